export type * from './contract.ts';
export { NetworkOpenError } from './errors.ts';
export { createNetwork } from './create-network.ts';
