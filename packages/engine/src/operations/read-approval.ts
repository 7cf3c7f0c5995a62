/** A call that waits or waited for a decision, with all that it was given. */
import type { Engine } from '../engine.ts';
import type { ApprovalRow } from '../questions/index.ts';
import { findApproval } from './decide-approval.ts';
import { isForgotten } from './run-forgotten.ts';

export interface WholeApproval extends ApprovalRow {
  /** Redacted. Null where only `what` was recorded: by a version before it, or of a run that was forgotten. */
  readonly call: {
    readonly text: string;
    /** Characters that were too many; the text has a mark in their place. */
    readonly leftOut: number;
  } | null;
}

export async function readApproval(engine: Engine, given: string): Promise<WholeApproval> {
  const approval = findApproval(engine, given);
  const { runId, approvalId } = approval;
  const asked = engine.ledger
    .read({ runId, types: ['approval.requested'] })
    .find(({ data }) => data.approvalId === approvalId);
  const stored = asked?.data.call;
  if (stored === undefined || isForgotten(engine, runId)) return { ...approval, call: null };
  const text = (await engine.store.getBlob(stored.ref)).toString('utf8');
  return { ...approval, call: { text, leftOut: stored.leftOut } };
}
