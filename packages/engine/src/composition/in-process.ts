/**
 * What only a process that is itself the host needs. It is behind this one file, and loaded when it is called, because most
 * commands have a daemon that does the work: the bundle of a client is built without it (decision 0039).
 */
export { rehearse } from '../admission/index.ts';
export { createLocalHosts } from '../hosts/index.ts';
export { findLeaseHolder } from '../daemon/index.ts';
export { findWaitingRuns, findWorkersOf } from '../operations/waiting-workers.ts';
export { openHere } from './open-here.ts';
export { openRehearsal } from './open-rehearsal.ts';
export { withScratchFolder } from './scratch-folder.ts';
export { openState } from './state-folder.ts';
