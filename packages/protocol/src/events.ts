/**
 * Every durable event, once. An event is a past-tense fact; what is not in the manifest cannot be appended.
 */
import * as z from 'zod/mini';
import type * as conversation from './conversation-events.ts';
import type { EventDefinition } from './define-event.ts';
import { Timestamp } from './ids.ts';
import type * as lifecycle from './lifecycle-events.ts';
import type * as run from './run-events.ts';
import type * as work from './work-events.ts';

export * from './define-event.ts';
export * from './lifecycle-events.ts';
export * from './run-events.ts';
export * from './conversation-events.ts';
export * from './work-events.ts';

/** The envelope of an event wherever it is shown; data fields stand beside it. */
export const EventEnvelope = z.looseObject({
  type: z.string(),
  version: z.int(),
  runId: z.nullable(z.string()),
  attempt: z.int(),
  seq: z.int(),
  offset: z.int(),
  at: Timestamp,
  trace: z.string(),
});
export type EventEnvelope = z.infer<typeof EventEnvelope>;

type Definitions = typeof conversation & typeof lifecycle & typeof run & typeof work;
type Definition = Extract<Definitions[keyof Definitions], EventDefinition>;

/** Every type of the manifest. */
export type EventType = Definition['type'];
/** What each type carries. */
export type EventData = { [D in Definition as D['type']]: z.infer<D['data']> };
