/** Events that are published and never recorded: their place among the recorded ones, their filter and their form. */
import { EVENTS, identifyEvent, recordedTypeOf, type EventType } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { PublishedEvent } from './contract.ts';

/** An event as a host publishes it, and its place: behind the recorded event with this offset, or at it. */
export interface PlacedEvent {
  readonly event: PublishedEvent;
  readonly place: number;
}

/**
 * Live events of other processes. It calls `receive` until the returned function is called. A source may come and go:
 * it promises neither that it reports everything nor that it reports a loss.
 */
export type LiveSource = (receive: (live: PlacedEvent) => void) => () => void;

export interface EventFilter {
  readonly runs?: readonly string[] | undefined;
  readonly types?: readonly EventType[] | undefined;
}

/** A `gap` passes every filter: only what would have passed is counted in it. */
export function createFilter({ runs, types }: EventFilter): (event: PublishedEvent) => boolean {
  const wantedRuns = runs === undefined ? null : new Set<string | null>(runs);
  const wantedTypes = types === undefined ? null : new Set<string>(types);
  return (event) =>
    event.type === 'gap' ||
    ((wantedRuns?.has(event.runId) ?? true) && (wantedTypes?.has(recordedTypeOf(event)) ?? true));
}

/** How many live events a reader loses with this one. */
export function countLive({ event }: PlacedEvent): number {
  if (event.seq > 0) return 0;
  return event.type === 'gap' ? event.data.count : 1;
}

export function composeGap(count: number, runId: string | null, at: string | undefined): PublishedEvent {
  const frame = {
    id: '',
    runId,
    attempt: 0,
    at: at ?? new Date(0).toISOString(),
    trace: '',
    seq: 0,
    offset: 0,
  };
  return { ...frame, type: 'gap', version: EVENTS.gap.version, data: { count } };
}

const MAX_NAME = 256;
const name = () => z.string().check(z.maxLength(MAX_NAME));

const LiveLine = z.object({
  place: z.int().check(z.nonnegative()),
  event: z.object({
    id: z.literal(''),
    runId: z.nullable(name()),
    attempt: z.int(),
    type: name(),
    version: z.int(),
    at: z.iso.datetime(),
    trace: name(),
    seq: z.literal(0), // what is recorded comes from the ledger and from nowhere else
    offset: z.literal(0),
    data: z.record(z.string(), z.unknown()),
  }),
});

/** Guards the edge for live events of another process; null for what is none. */
export function parseLiveEvent(value: unknown): PlacedEvent | null {
  const parsed = LiveLine.safeParse(value);
  if (!parsed.success) return null;
  const { place, event } = parsed.data;
  return { place, event: { ...event, ...identifyEvent(event.type, event.data) } };
}
