export type * from './contract.ts';
export { WorkerStartError } from './errors.ts';
export { createLocalCompute } from './local-compute.ts';
export { startSpareWorker, type SpareWorker } from './spare-worker.ts';
