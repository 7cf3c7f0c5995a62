export { createAttemptContext, createGathered, deny, type AttemptContext } from './attempt-context.ts';
export { openAdoption } from './adoption.ts';
export { openChannel } from './channel.ts';
export { openControl, type Assignment, type Control, type StopOrder } from './control.ts';
export {
  expectsNetwork,
  hasViewInJob,
  isSpare,
  readWorkerEnvironment,
  type WorkerEnvironment,
} from './environment.ts';
export { startHeartbeat } from './heartbeat.ts';
export { watchHost } from './host-watch.ts';
export { lookAtMailbox } from './mailbox-before.ts';
export { writeInMailbox } from './mailbox-file.ts';
export { addUsage } from './meter.ts';
export { redactForeign, redactRecord } from './redact-value.ts';
export { selfStartTime } from './self-start-time.ts';
export { openSpool, type Spool } from './spool.ts';
export { StepFailure, describeThrown, fail, inStep } from './step-failure.ts';
export { StoppedError, endingOfOrder, throwIfStopped } from './stop-order.ts';
export { createLineWriter } from './line-writer.ts';
