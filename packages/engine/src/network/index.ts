export type * from './contract.ts';
export { NetworkOpenError } from './errors.ts';
export { createNetwork, type NetworkSettings } from './create-network.ts';
