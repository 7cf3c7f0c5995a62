export type * from './contract.ts';
export { HostUnreachableError } from './errors.ts';
export { createLocalHosts } from './local-hosts.ts';
export { MAX_FOLLOWED_RUNS } from './orders.ts';
