export type * from './contract.ts';
export { createDispatcher } from './dispatcher.ts';
export { recover } from './recover.ts';
export { describeRun } from './describe-run.ts';
export { describeTask } from './describe-task.ts';
export { RunAmbiguousError, RunNotFoundError, TaskRefusedError } from './errors.ts';
export { refuseTask } from './refuse-task.ts';
export { flatten } from './run-stream.ts';
export { attemptPaths } from './state-paths.ts';
