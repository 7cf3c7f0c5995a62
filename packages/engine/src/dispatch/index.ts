export { createDispatcher } from './dispatcher.ts';
export { describeRun } from './describe-run.ts';
