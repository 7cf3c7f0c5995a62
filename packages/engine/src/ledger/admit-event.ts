// The edge of the ledger: an event that passes can be stored byte for byte and hashed again later.

import { canonicalJson } from './canonical-json.ts';
import type { NewEvent } from './contract.ts';
import { InvalidEventError } from './errors.ts';

/** The largest data of one event, as canonical JSON. */
export const MAX_EVENT_BYTES = 4 * 1024 * 1024;
/** The most events of one `append` call. */
export const MAX_EVENTS_PER_APPEND = 10_000;

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
// Control characters and lone surrogates do not survive every database and terminal.
const PLAIN_TEXT = /^[^\p{Cc}\p{Cs}]*$/u;
const MAX_NAME = 256;

/** An event that passed the edge, with its data as canonical text. */
export interface AdmittedEvent extends Omit<NewEvent, 'data' | 'id'> {
  readonly id: string;
  /** False when the ledger generated the id: then it cannot exist yet. */
  readonly isIdGiven: boolean;
  readonly dataText: string;
}

/** Checks one call's events, or throws InvalidEventError. */
export function admitEvents(events: readonly NewEvent[], createEventId: () => string): AdmittedEvent[] {
  if (events.length > MAX_EVENTS_PER_APPEND) {
    throw new InvalidEventError(
      `one append accepts at most ${MAX_EVENTS_PER_APPEND} events, not ${events.length}`,
    );
  }
  return events.map((event) => admitEvent(event, createEventId));
}

function admitEvent(event: NewEvent, createEventId: () => string): AdmittedEvent {
  demandName('type', event.type);
  if (event.runId !== null) demandName('runId', event.runId);
  if (event.id !== undefined) demandName('id', event.id);
  demandCount('attempt', event.attempt, 0);
  demandCount('version', event.version, 1);
  if (!TIMESTAMP.test(event.at))
    throw new InvalidEventError(`at ${JSON.stringify(event.at)} is not UTC with milliseconds`);
  if (typeof event.trace !== 'string' || event.trace.length > MAX_NAME || !PLAIN_TEXT.test(event.trace)) {
    throw new InvalidEventError(`the trace of ${event.type} is not a short plain text`);
  }
  const dataText = admitData(event);
  return {
    id: event.id ?? createEventId(),
    isIdGiven: event.id !== undefined,
    runId: event.runId,
    attempt: event.attempt,
    type: event.type,
    version: event.version,
    at: event.at,
    trace: event.trace,
    dataText,
  };
}

function admitData(event: NewEvent): string {
  if (typeof event.data !== 'object' || event.data === null || Array.isArray(event.data)) {
    throw new InvalidEventError(`the data of ${event.type} is not an object`);
  }
  const text = canonicalJson(event.data);
  // UTF-8 needs at most three bytes for each UTF-16 unit: count only when it could matter.
  if (text.length * 3 > MAX_EVENT_BYTES && Buffer.byteLength(text) > MAX_EVENT_BYTES) {
    throw new InvalidEventError(
      `the data of ${event.type} is larger than ${MAX_EVENT_BYTES} bytes; put it into the store`,
    );
  }
  return text;
}

function demandName(field: string, value: string): void {
  if (typeof value !== 'string' || value === '' || value.length > MAX_NAME || !PLAIN_TEXT.test(value)) {
    throw new InvalidEventError(
      `${field} ${JSON.stringify(value)} is not a plain text of 1 to ${MAX_NAME} characters`,
    );
  }
}

function demandCount(field: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new InvalidEventError(`${field} ${value} is not a whole number from ${least} up`);
  }
}
