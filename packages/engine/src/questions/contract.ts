/**
 * Approvals: tool calls that wait until a person decides.
 *
 *   requested ──decided by a person (allow | deny)──► decided
 *       ├──────deadline passed (deny)───────────────► decided
 *       └──────the attempt ended (deny)─────────────► decided
 *
 * AP1  An approval is on disk before it can be decided, and its decision before the call continues.
 * AP2  It is decided exactly once; a second decision is refused.
 * AP3  No answer is a denial; so is a host that is gone, unless another one adopts the run: then the same approval waits on,
 *      until the same deadline.
 *
 * Questions: a run has ended because its agent asks a person. Another run continues with the answer.
 *
 *   open ──another run was accepted with the answer──────► answered
 *     └────deadline passed, or its run was forgotten─────► expired
 *
 * Q1  A question is answered once. Who answers holds a lease, and checks again that the question is open.
 * Q2  The acceptance of the run that continues is the answer. If its host dies before it records `question.answered`,
 *     the next process that answers or expires the question records it.
 * Q3  A question expires when the next process reads questions, and never after it was answered (Q2).
 * Q4  A thread of a workflow asks while it lives. The recorded answer is all: no run continues, the thread goes on by itself.
 */
import type { Clock } from '@caisson/ground';
import type { DataOf, DispatchRequest } from '@caisson/protocol';
import type { Emit, Ledger, QuestionFilter, QuestionRow, Recorder } from '../ledger/index.ts';

export type { ApprovalRow } from '../ledger/index.ts';

export type ApprovalDecision = 'allow' | 'deny';
export type DecidedBy = 'user' | 'deadline' | 'ending';

/** The whole call, in the store. */
export type StoredCall = NonNullable<DataOf<'approval.requested'>['call']>;

export interface ApprovalRequest {
  readonly runId: string;
  readonly tool: string;
  /** The call in words, redacted. */
  readonly what: string;
  readonly actionClass: string;
  /** Stores the whole call, redacted; asked only for one that is held. Absent from a worker that does not say it. */
  storeCall?(): Promise<StoredCall>;
  /** The worker's own id of its request. */
  readonly requestId: string;
  /** The same request as the host before recorded it: it is still open. */
  readonly earlier?: { readonly approvalId: string; readonly leftMs: number } | undefined;
  /** Records an event of this run and resolves when it is durable. */
  readonly emit: Emit;
}

export interface Approvals {
  /** Waits until the call is decided. */
  request(request: ApprovalRequest): Promise<{ decision: ApprovalDecision; by: DecidedBy }>;
  /** False when there is no such open approval here. */
  decide(approvalId: string, decision: ApprovalDecision): Promise<boolean>;
  /** The attempt has ended: what is still open for the run is denied. */
  close(runId: string): Promise<void>;
}

export interface Questions<Handle> {
  /** Expires what is due, then lists. */
  list(filter?: QuestionFilter): Promise<readonly QuestionRow[]>;
  /**
   * `given` is a question's id, or a run or thread that asked. Throws `QuestionClosedError` unless the question is open.
   * Null when a thread asked (Q4).
   */
  answer(given: string, answer: string): Promise<Handle | null>;
}

/** What questions need of the project. */
export interface QuestionRooms<Handle = unknown> {
  readonly clock: Clock;
  readonly hostId: string;
  readonly ledger: Ledger;
  readonly recorder: Recorder;
  isHostAlive(hostId: string): Promise<boolean>;
  /** The whole id of a run. */
  resolveRun(given: string): string;
  isForgotten(runId: string): boolean;
  /** Called before a run continues; throws where none may. An answer to a thread starts none (Q4). */
  beginRun(): Promise<void>;
  /** Throws when the run was forgotten. */
  requireContents(runId: string): void;
  /** The request of a run, as it was accepted. */
  readRequest(runId: string): Promise<DispatchRequest>;
  /** Dispatches the run's task again, as a run that continues it. */
  continueRun(runId: string, next: Required<Pick<DispatchRequest, 'runId' | 'answer'>>): Promise<Handle>;
}
