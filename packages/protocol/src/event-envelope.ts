/** An event as people and programs see it: its place, with the fields of its data beside it. */
import * as z from 'zod/mini';
import {
  identifyEvent,
  type DataOf,
  type EventContent,
  type EventType,
  type UnknownContent,
} from './events.ts';
import { Timestamp } from './ids.ts';

const EventPlace = z.object({
  version: z.int(),
  runId: z.nullable(z.string()),
  attempt: z.int(),
  seq: z.int(),
  offset: z.int(),
  at: Timestamp,
  trace: z.string(),
});
/** The place of an event. `seq` and `offset` are 0 for an event that is only published. */
export type EventPlace = z.infer<typeof EventPlace>;

/** One line of `-o ndjson`. */
export const EventEnvelope = z.looseObject({ type: z.string(), ...EventPlace.shape });
/** The same line before `parseEnvelope` has found out which event it is. */
export type WireEvent = z.infer<typeof EventEnvelope>;

/** The envelope of each type. */
export type EnvelopeOf<T extends EventType> = {
  [K in T]: EventPlace & { readonly type: K } & Fields<K>;
}[T];
/** Data without fields is inferred as a record in which every name is impossible. */
type Fields<T extends EventType> = string extends keyof DataOf<T> ? unknown : DataOf<T>;
/** The meaning of `type: 'unknown'`: see {@link UnknownContent}. */
export type UnknownEnvelope = EventPlace & UnknownContent;
/** Every event by its type, and one member for what a newer version wrote. */
export type EventEnvelope = EnvelopeOf<EventType> | UnknownEnvelope;

export function toEnvelope(event: EventPlace & (EventContent | UnknownContent)): EventEnvelope {
  const { version, seq, offset, runId, attempt, at, trace } = event;
  const place = { version, seq, offset, runId, attempt, at, trace };
  if (event.type === 'unknown')
    return { type: event.type, ...place, recordedType: event.recordedType, data: event.data };
  return putInFront({ type: event.type, ...place }, event.data) as EventEnvelope;
}

/** One handler for each type: a table that lacks one does not compile. */
export type EnvelopeHandlers<R> = { readonly [T in EventType]: (event: EnvelopeOf<T>) => R };

/** Calls the handler of the event's type; `handleUnknown` for what a newer version wrote. */
export function handleEnvelope<R>(
  handlers: EnvelopeHandlers<R>,
  event: EventEnvelope,
  handleUnknown: (event: UnknownEnvelope) => R,
): R {
  if (event.type === 'unknown') return handleUnknown(event);
  // The compiler does not see that type and handler belong together.
  return (handlers[event.type] as (event: EventEnvelope) => R)(event);
}

/** The line that an envelope is written as; an unknown event as the version that knows it would write it. */
export function toWire(envelope: EventEnvelope): WireEvent {
  if (envelope.type !== 'unknown') return { ...envelope };
  const { recordedType, data, ...place } = envelope;
  return putInFront({ ...place, type: recordedType }, data);
}

/** The envelope's fields come first, and no field of the data replaces one. */
function putInFront<T extends object>(place: T, data: object): T {
  return { ...place, ...data, ...place };
}

/** Guards the edge for lines that come from another process. Throws a ZodError where it is no event at all. */
export function parseEnvelope(line: unknown): EventEnvelope {
  const { type, version, runId, attempt, seq, offset, at, trace, ...data } = EventEnvelope.parse(line);
  const place = { version, runId, attempt, seq, offset, at, trace };
  return toEnvelope({ ...place, ...identifyEvent(type, data) });
}
