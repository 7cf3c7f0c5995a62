/**
 * Every event, once. An event is a past-tense fact; what is not in `EVENTS` cannot be recorded. To add one, add it to one
 * of the five tables: the compiler then names every place that has to know it.
 */
import type * as z from 'zod/mini';
import { conversationEvents } from './conversation-events.ts';
import { findStray } from './find-stray.ts';
import { isTerminal, lifecycleEvents, type TerminalType } from './lifecycle-events.ts';
import { residentEvents } from './resident-events.ts';
import { runEvents } from './run-events.ts';
import { workEvents } from './work-events.ts';

export * from './lifecycle-events.ts';

export const EVENTS = {
  ...lifecycleEvents,
  ...runEvents,
  ...conversationEvents,
  ...workEvents,
  ...residentEvents,
} as const;

/** Every type of event. */
export type EventType = keyof typeof EVENTS;
/** Those that are written to the ledger; the others are only published. */
export type DurableType = {
  [T in EventType]: (typeof EVENTS)[T]['durable'] extends true ? T : never;
}[EventType];
/** Recorded up to a number for each attempt; what is beyond it is only published. */
export const WORK_TYPES = ['tool.started', 'tool.ended', 'agent.said', 'model.called'] as const;
export type WorkType = (typeof WORK_TYPES)[number];
/** Those that may be published without being recorded: also a warning that the ledger itself does not accept. */
export type LiveType = Exclude<EventType, DurableType> | WorkType | 'warning';
/** What an event of this type carries. */
export type DataOf<T extends EventType> = z.infer<(typeof EVENTS)[T]['data']>;

/** An event without its place: a type, and what that type carries. */
export type EventContent<T extends EventType = EventType> = {
  [K in T]: { readonly type: K; readonly data: DataOf<K> };
}[T];

/**
 * An event that this version does not know, or whose data is not what this version knows of its type: a newer version
 * wrote it. It is shown and verified as it stands.
 */
export interface UnknownContent {
  readonly type: 'unknown';
  /** The type under which it stands in the ledger. */
  readonly recordedType: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The content of a stored event. The data stays the object that was read: hashing needs every field of it. */
export function identifyEvent(
  type: string,
  data: Readonly<Record<string, unknown>>,
): EventContent | UnknownContent {
  return isEventType(type) && EVENTS[type].data.safeParse(data).success
    ? ({ type, data } as unknown as EventContent)
    : { type: 'unknown', recordedType: type, data };
}

/** Why an event is none, in words that repeat no value; null when it fits its definition. */
export function findMisfit(type: string, data: unknown): string | null {
  if (!isEventType(type)) return `there is no event ${type}`;
  const schema: z.ZodMiniObject = EVENTS[type].data;
  const { data: parsed, error } = schema.safeParse(data);
  if (error !== undefined) {
    const problems = error.issues.map(({ path, code }) => `${path.join('.') || 'data'} (${code})`);
    return `the data of ${type} does not fit: ${problems.join(', ')}`;
  }
  const stray = findStray(data, parsed);
  return stray === null ? null : `${type} has no field ${stray.slice(0, 200)}`;
}

/** The type under which an event stands in the ledger, whether this version knows it or not. */
export function recordedTypeOf(event: { readonly type: EventType } | UnknownContent): string {
  return event.type === 'unknown' ? event.recordedType : event.type;
}

/** The same as one of our names, also where the data cannot be read; `unknown` where it is none of them. */
export function knownTypeOf(event: { readonly type: EventType } | UnknownContent): EventType | 'unknown' {
  const type = recordedTypeOf(event);
  return isEventType(type) ? type : 'unknown';
}

/** Whether the event is the one ending of its run. */
export function isEnding<E extends { readonly type: string }>(
  event: E,
): event is Extract<E, { readonly type: TerminalType }> {
  return isTerminal(event.type);
}

function isEventType(type: string): type is EventType {
  return Object.hasOwn(EVENTS, type);
}
