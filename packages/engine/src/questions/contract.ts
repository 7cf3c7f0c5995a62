/**
 * Approvals: tool calls that are held until somebody decides.
 *
 *   requested ──decided by a person (allow | deny)──► decided
 *       ├──────deadline passed (deny)───────────────► decided
 *       └──────the attempt ended (deny)─────────────► decided
 *
 * AP1  An approval is on disk before anyone can decide it, and its decision before the call goes on.
 * AP2  It is decided exactly once; whoever comes second is told so.
 * AP3  No answer is a deny; so is a host that is gone.
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
  /** Holds until the call is decided. */
  request(request: ApprovalRequest): Promise<{ decision: ApprovalDecision; by: DecidedBy }>;
  /** False when there is no such open approval here. */
  decide(approvalId: string, decision: ApprovalDecision): Promise<boolean>;
  /** The attempt has ended: what is still open for the run is denied. */
  close(runId: string): Promise<void>;
}

/** An approval as the ledger tells it. */
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
