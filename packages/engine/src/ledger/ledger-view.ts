import type { AttemptRow, QuestionRow, RunRow, SpendRow } from './contract.ts';
import type { EventRecord, StreamHead } from './event-record.ts';

/** A run as it is kept: `lastSeq` is the stream's business. */
export type RunState = Omit<RunRow, 'lastSeq'>;

/** How far one run's stream has come, and whether its ending is in it. */
export interface StreamState extends StreamHead {
  /** The `offset` of the run's newest event. */
  readonly headOffset: number;
  readonly isSealed: boolean;
}

export const NEW_STREAM: StreamState = { count: 0, head: '0'.repeat(64), headOffset: 0, isSealed: false };

/** What an append needs to know. Reads inside a write transaction, so that nobody else can move it meanwhile. */
export interface LedgerView {
  total(): StreamHead;
  stream(runId: string | null): StreamState;
  eventById(id: string): EventRecord | null;
  run(runId: string): RunState | null;
  runByIdempotencyKey(key: string): RunState | null;
  attempt(runId: string, attempt: number): AttemptRow | null;
  question(questionId: string): QuestionRow | null;
  spend(runId: string): SpendRow | null;
}
