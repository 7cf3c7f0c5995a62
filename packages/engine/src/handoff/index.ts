export type {
  ParentSpan,
  PoolHouse,
  PoolModel,
  PoolRun,
  PoolTask,
  Worker,
  WorkerPoolConfig,
  WorkerPoolDeps,
} from './contract.ts';
export * from './errors.ts';
export { WorkerPool } from './worker-pool.ts';
