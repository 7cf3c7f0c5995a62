export { createDispatcher } from './dispatcher.ts';
export { describeRun } from './describe-run.ts';
export { createRequestDesk } from './request-desk.ts';
