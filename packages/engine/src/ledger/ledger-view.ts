import type { ThreadRow } from '@caisson/protocol';
import type { ApprovalRow, AttemptRow, QuestionRow, RunRow, SpendRow } from './contract.ts';
import type { EventRecord, StreamHead } from './event-record.ts';

/** A run as it is stored: the stream owns `lastSeq`. */
export type RunState = Omit<RunRow, 'lastSeq'>;

/** The position of one run's stream, and whether it has ended. */
export interface StreamState extends StreamHead {
  /** The `offset` of the run's newest event. */
  readonly headOffset: number;
  readonly isEnded: boolean;
}

export const NEW_STREAM: StreamState = { count: 0, head: '0'.repeat(64), headOffset: 0, isEnded: false };

/** What an append needs to know. Reads inside a write transaction, so that no other process can change it meanwhile. */
export interface LedgerView {
  total(): StreamHead;
  stream(runId: string | null): StreamState;
  eventById(id: string): EventRecord | null;
  run(runId: string): RunState | null;
  runByIdempotencyKey(key: string): RunState | null;
  attempt(runId: string, attempt: number): AttemptRow | null;
  question(questionId: string): QuestionRow | null;
  approval(approvalId: string): ApprovalRow | null;
  openApprovals(runId: string): ApprovalRow[];
  spend(runId: string): SpendRow | null;
  thread(threadId: string): ThreadRow | null;
}
