export type * from './contract.ts';
export { supervise } from './supervise.ts';
export { readWorkerStream } from './worker-stream.ts';
