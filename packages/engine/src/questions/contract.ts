/**
 * Approvals: tool calls that wait until a person decides.
 *
 *   requested ──decided by a person (allow | deny)──► decided
 *       ├──────deadline passed (deny)───────────────► decided
 *       └──────the attempt ended (deny)─────────────► decided
 *
 * AP1  An approval is on disk before it can be decided, and its decision before the call continues.
 * AP2  It is decided exactly once; a second decision is refused.
 * AP3  No answer is a denial; so is a host that is gone.
 */
import type { Emit } from '../ledger/index.ts';

export type ApprovalDecision = 'allow' | 'deny';
export type DecidedBy = 'user' | 'deadline' | 'ending';

export interface ApprovalRequest {
  readonly runId: string;
  readonly tool: string;
  /** The call in words, redacted. */
  readonly what: string;
  readonly actionClass: string;
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

/** An approval as the ledger records it. */
export interface ApprovalRow {
  readonly approvalId: string;
  readonly runId: string;
  readonly tool: string;
  readonly what: string;
  readonly actionClass: string;
  readonly requestedAt: string;
  readonly deadlineAt: string;
  readonly status: 'open' | 'allowed' | 'denied';
  readonly by?: DecidedBy;
}
