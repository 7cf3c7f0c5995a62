export { createDispatcher, readEvents } from './dispatcher.ts';
export { describeRun } from './describe-run.ts';
export { createRequestHandler } from './request-handler.ts';
