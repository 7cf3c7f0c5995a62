import type { AdmittedEvent } from './admit-event.ts';
import type { Draft } from './draft.ts';
import { EventIdConflictError, InvalidEventError, SequenceConflictError } from './errors.ts';
import { hashRecord, parseData } from './event-record.ts';
import type { EventRecord } from './event-record.ts';
import type { StreamState } from './ledger-view.ts';
import { isProjected, project } from './project.ts';
import { checkTransition } from './transitions.ts';
import { identifyEvent, isTerminal } from '@caisson/protocol';

/**
 * Decides what one call will write, without writing: everything that can be refused is refused here. Returns the call's
 * events in order, including those that existed before (L4).
 */
export function planAppend(
  draft: Draft,
  events: readonly AdmittedEvent[],
  expectedSeq?: number,
): EventRecord[] {
  const known = events.map((event) => (event.isIdGiven ? findSame(draft, event) : null));
  // A repeated call is answered as the first one was, whatever has been appended since.
  if (expectedSeq !== undefined && known.includes(null)) demandSeq(draft, events, expectedSeq);
  return events.map((event, index) => known[index] ?? planEvent(draft, event));
}

function planEvent(draft: Draft, event: AdmittedEvent): EventRecord {
  // The same id may be twice in one call.
  const twin = event.isIdGiven ? findSame(draft, event) : null;
  if (twin !== null) return twin;
  // Rules and rows use what is recorded, not the caller's object, so that a replay has the same result.
  const projected = isProjected(event.type)
    ? { ...event, ...identifyEvent(event.type, parseData(event)) }
    : null;
  if (projected !== null) checkTransition(draft, projected);
  const stream = draft.stream(event.runId);
  const total = draft.total();
  const record = linkRecord(event, stream, total.count + 1);
  draft.addEvent(
    record,
    event.isIdGiven,
    {
      count: record.seq,
      head: record.hash,
      headOffset: record.offset,
      isEnded: stream.isEnded || (projected !== null && endsStream(event.type)),
    },
    { count: record.offset, head: record.hash },
  );
  if (projected !== null) project({ ...projected, offset: record.offset }, draft);
  return record;
}

function endsStream(type: string): boolean {
  return isTerminal(type) || type === 'thread.ended';
}

function linkRecord(event: AdmittedEvent, stream: StreamState, offset: number): EventRecord {
  const record = {
    id: event.id,
    runId: event.runId,
    attempt: event.attempt,
    type: event.type,
    version: event.version,
    at: event.at,
    trace: event.trace,
    dataText: event.dataText,
    seq: stream.count + 1,
    offset,
    prevOffset: stream.headOffset,
    prevHash: stream.head,
    hash: '',
  };
  record.hash = hashRecord(record);
  return record;
}

function findSame(draft: Draft, event: AdmittedEvent): EventRecord | null {
  const record = draft.eventById(event.id);
  if (record === null) return null;
  // `at` and `trace` may differ: a repeated call reads the clock again.
  const isSame =
    record.runId === event.runId &&
    record.attempt === event.attempt &&
    record.type === event.type &&
    record.version === event.version &&
    record.dataText === event.dataText;
  if (!isSame) throw new EventIdConflictError(event.id);
  return record;
}

function demandSeq(draft: Draft, events: readonly AdmittedEvent[], expectedSeq: number): void {
  const runId = events[0]?.runId ?? null;
  if (events.some((event) => event.runId !== runId)) {
    throw new InvalidEventError('expectedSeq needs all events of the call to belong to one run');
  }
  const { count } = draft.stream(runId);
  if (count !== expectedSeq) throw new SequenceConflictError(runId, expectedSeq, count);
}
