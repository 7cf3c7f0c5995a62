export { createDispatcher } from './dispatcher.ts';
export { readEvents } from './read-events.ts';
export { describeRun } from './describe-run.ts';
export { createRequestHandler } from './request-handler.ts';
