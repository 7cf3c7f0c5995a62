export type * from './contract.ts';
export { canAdopt } from './adopt-worker.ts';
export { attemptKey, WorkerHandle } from './contract.ts';
export { WorkerStartError, WorkerUnreachableError } from './errors.ts';
export { inheritVariables } from './inherited-variables.ts';
export { createLocalCompute } from './local-compute.ts';
export { createSpareWorkers, type SpareWorkers } from './spare-worker.ts';
