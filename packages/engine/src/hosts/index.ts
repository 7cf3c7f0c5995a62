export type * from './contract.ts';
export { HostUnreachableError } from './errors.ts';
export { createLocalHosts } from './local-hosts.ts';
