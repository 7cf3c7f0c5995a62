import type { ApprovalRow, Ledger, Page } from '../ledger/index.ts';

export interface ListedApprovals extends Page {
  readonly runId?: string;
  readonly openOnly?: boolean;
}

/** Approvals in the order of their requests. An open one of a run that has ended was denied with it. */
export function listApprovals(
  ledger: Pick<Ledger, 'approvals'>,
  { openOnly = false, ...filter }: ListedApprovals = {},
): readonly ApprovalRow[] {
  return ledger.approvals({ ...filter, ...(openOnly ? { status: 'open' } : {}) });
}
