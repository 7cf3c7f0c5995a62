export type * from './contract.ts';
export { createDispatcher } from './dispatcher.ts';
export { recover } from './recover.ts';
export { describeRun } from './describe-run.ts';
export { RunNotFoundError, TaskRefusedError } from './errors.ts';
export { flatten } from './run-stream.ts';
export { attemptPaths } from './state-paths.ts';
