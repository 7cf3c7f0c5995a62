/** The events of one run as evidence: their exported form, their chain. */
import { isUtf8 } from 'node:buffer';

import {
  canonicalJson,
  hashEvent,
  toChainEvent,
  ZERO_HASH,
  type ChainEvent,
  type StoredEvent,
} from '../ledger/index.ts';
import { parseJson } from './dsse.ts';
import { EvidenceMalformedError } from './errors.ts';

const KEYS = ['at', 'attempt', 'data', 'hash', 'id', 'prevHash', 'runId', 'seq', 'trace', 'type', 'version'];

/** One canonical line an event, without its offset in the whole ledger, which is internal and not hashed. */
export function encodeEvents(events: readonly StoredEvent[]): Buffer {
  return Buffer.from(events.map((event) => `${canonicalJson(toChainEvent(event))}\n`).join(''));
}

/** Guards the edge: exactly the lines that `encodeEvents` writes. */
export function parseEvents(bytes: Buffer): ChainEvent[] {
  if (bytes.length === 0) return [];
  if (!isUtf8(bytes)) throw new EvidenceMalformedError('events are not valid UTF-8');
  const lines = bytes.toString('utf8').split('\n');
  if (lines.pop() !== '') throw new EvidenceMalformedError('events end in the middle of a line');
  return lines.map((line, index) => parseLine(line, index + 1));
}

/** The first break of the chain, in words; null when there is none. */
export function findBreak(events: readonly ChainEvent[], runId: string): string | null {
  let previous = ZERO_HASH;
  for (const [index, event] of events.entries()) {
    const at = `event ${index + 1} (${event.type})`;
    if (event.seq !== index + 1)
      return `${at} has seq ${event.seq}: an event is missing, doubled or out of order`;
    if (event.runId !== runId) return `${at} belongs to run ${String(event.runId)}`;
    if (event.prevHash !== previous) return `${at} does not follow the event before it`;
    if (hashEvent(event) !== event.hash) return `${at} does not have the hash it carries`;
    previous = event.hash;
  }
  return null;
}

function parseLine(line: string, number: number): ChainEvent {
  const value = parseJson(Buffer.from(line));
  if (!isChainEvent(value))
    throw new EvidenceMalformedError(`event ${number} does not have the members of an event`);
  if (canonicalJson(value) !== line)
    throw new EvidenceMalformedError(`event ${number} is not in canonical form`);
  return value;
}

function isChainEvent(value: unknown): value is ChainEvent {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  if (Object.keys(value).toSorted().join() !== KEYS.join()) return false;
  const members = value as Record<string, unknown>;
  const texts = ['at', 'hash', 'id', 'prevHash', 'trace', 'type'].every(
    (key) => typeof members[key] === 'string',
  );
  const counts = ['attempt', 'seq', 'version'].every((key) => Number.isSafeInteger(members[key]));
  return texts && counts && 'data' in value && typeof value.data === 'object' && value.data !== null;
}
