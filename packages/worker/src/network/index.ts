export type * from './contract.ts';
export { openAttemptNetwork, type AttemptNetwork } from './attempt-network.ts';
export { openNetwork } from './open-network.ts';
