import type { DataOf } from '@caisson/protocol';

/** A tool call that waited, or waits, until a person decides. */
export interface ApprovalRow {
  readonly approvalId: string;
  readonly runId: string;
  readonly tool: string;
  readonly what: string;
  readonly actionClass: string;
  readonly requestedAt: string;
  readonly requestedOffset: number;
  readonly deadlineAt: string;
  readonly status: 'open' | 'allowed' | 'denied';
  /** The worker's own id of its request; absent in runs of earlier versions. */
  readonly requestId?: string;
  readonly by?: DataOf<'approval.decided'>['by'];
}
