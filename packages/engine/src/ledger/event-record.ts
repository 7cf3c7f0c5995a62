// How an event is stored and hashed. The hash covers the canonical JSON of {at, attempt, data, id, prevHash, runId,
// seq, trace, type, version}: anyone with the event can recompute it.

import { hash as digest } from 'node:crypto';
import { identifyEvent, recordedTypeOf } from '@caisson/protocol';
import { canonicalJson } from './canonical-json.ts';
import type { EventFrame, NewEvent, StoredEvent } from './contract.ts';

/** The `prevHash` of the first event of every run. */
export const ZERO_HASH = '0'.repeat(64);

/** An event with its data still as the canonical text that was hashed. */
export interface EventRecord extends EventFrame {
  readonly type: string;
  readonly dataText: string;
  readonly prevHash: string;
  readonly hash: string;
  /** Where the run's previous event is; 0 for its first. Not hashed: it only saves an index. */
  readonly prevOffset: number;
}

/** How far a stream has come. */
export interface StreamHead {
  readonly count: number;
  readonly head: string;
}

export const EMPTY_STREAM: StreamHead = { count: 0, head: ZERO_HASH };

type Unhashed = Omit<EventRecord, 'hash' | 'offset' | 'prevOffset'>;

/** The hash that `record` must carry. */
export function hashRecord(record: Unhashed): string {
  return digest('sha256', envelopeText(record), 'hex');
}

/** An event as it is hashed and exported: under the type it was stored with, whether this version knows it or not. */
export interface ChainEvent extends Required<NewEvent> {
  readonly seq: number;
  readonly prevHash: string;
  readonly hash: string;
}

export function toChainEvent(event: StoredEvent): ChainEvent {
  const { id, runId, attempt, version, at, trace, data, seq, prevHash, hash } = event;
  return { id, runId, attempt, type: recordedTypeOf(event), version, at, trace, data, seq, prevHash, hash };
}

/** The hash that an event must carry; for readers outside the ledger, such as evidence. */
export function hashEvent(event: ChainEvent): string {
  return hashRecord({ ...event, dataText: canonicalJson(event.data) });
}

/** The event as callers see it: here, once, what was stored gets its type. */
export function toStoredEvent(record: EventRecord): StoredEvent {
  return {
    ...identifyEvent(record.type, parseData(record)),
    id: record.id,
    runId: record.runId,
    attempt: record.attempt,
    version: record.version,
    at: record.at,
    trace: record.trace,
    seq: record.seq,
    offset: record.offset,
    prevHash: record.prevHash,
    hash: record.hash,
  };
}

/** The ledger stores nothing but objects here. */
export function parseData({ dataText }: { readonly dataText: string }): Record<string, unknown> {
  return JSON.parse(dataText) as Record<string, unknown>;
}

function envelopeText(record: Unhashed): string {
  const text = JSON.stringify;
  return (
    `{"at":${text(record.at)},"attempt":${record.attempt},"data":${record.dataText},"id":${text(record.id)},` +
    `"prevHash":"${record.prevHash}","runId":${text(record.runId)},"seq":${record.seq},` +
    `"trace":${text(record.trace)},"type":${text(record.type)},"version":${record.version}}`
  );
}
