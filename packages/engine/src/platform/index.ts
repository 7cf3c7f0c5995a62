export { backoffMs } from './backoff.ts';
export { forEachOf, MOST_AT_ONCE } from './for-each-of.ts';
export { findRefusal, TaskRefusedError, type Refusal } from './refusal.ts';
export { createPrefixedId, createRunId } from './ids.ts';
export { orAborted } from './or-aborted.ts';
export { pause } from './pause.ts';
export { createShortMemory } from './short-memory.ts';
export { VisitRefusedError } from './visit-refused.ts';
export { withinMs } from './within-ms.ts';
