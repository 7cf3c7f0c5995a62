export { createDispatcher } from './dispatcher.ts';
export { readEvents } from './read-events.ts';
export { describeRun, readResult } from './describe-run.ts';
export { createRequestHandler } from './request-handler.ts';
