export type * from './contract.ts';
export { createNetwork } from './create-network.ts';
