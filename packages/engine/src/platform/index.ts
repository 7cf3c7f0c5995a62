export { backoffMs } from './backoff.ts';
export { TaskRefusedError, type Refusal } from './refusal.ts';
export { createPrefixedId, createRunId } from './ids.ts';
export { pause } from './pause.ts';
