import type { ApprovalRow, Ledger } from '../ledger/index.ts';

/** Approvals in the order of their requests. An open one of a run that has ended was denied with it. */
export function listApprovals(
  ledger: Pick<Ledger, 'approvals'>,
  { runId, openOnly = false }: { runId?: string; openOnly?: boolean } = {},
): readonly ApprovalRow[] {
  return ledger.approvals({
    ...(runId === undefined ? {} : { runId }),
    ...(openOnly ? { status: 'open' } : {}),
  });
}
