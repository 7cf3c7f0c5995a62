import type { Ledger, StoredOf } from '../ledger/index.ts';
import type { ApprovalRow } from './contract.ts';

const TYPES = ['approval.requested', 'approval.decided'] as const;

/** Approvals in the order of their requests. An open one of a run that has ended was denied with it. */
export function listApprovals(
  ledger: Pick<Ledger, 'read' | 'runs'>,
  filter: { runId?: string; openOnly?: boolean } = {},
): readonly ApprovalRow[] {
  const living = new Set(ledger.runs({ status: 'running' }).map((run) => run.runId));
  const runs = filter.runId === undefined ? [...living] : [filter.runId];
  const events =
    filter.runId !== undefined || filter.openOnly === true
      ? runs.flatMap((runId) => ledger.read({ runId, types: TYPES }))
      : ledger.read({ types: TYPES });
  const rows = new Map<string, ApprovalRow>();
  for (const event of events) {
    const { approvalId } = event.data;
    const known = rows.get(approvalId);
    if (event.type === 'approval.requested') rows.set(approvalId, rowOf(event, living));
    else if (known !== undefined) rows.set(approvalId, { ...known, ...decisionOf(event) });
  }
  return [...rows.values()].filter((row) => filter.openOnly !== true || row.status === 'open');
}

function rowOf(event: StoredOf<'approval.requested'>, living: ReadonlySet<string>): ApprovalRow {
  const runId = event.runId ?? '';
  return {
    ...event.data,
    runId,
    requestedAt: event.at,
    ...(living.has(runId) ? { status: 'open' } : { status: 'denied', by: 'ending' }),
  };
}

function decisionOf({ data }: StoredOf<'approval.decided'>): Pick<ApprovalRow, 'status' | 'by'> {
  return { status: data.decision === 'allow' ? 'allowed' : 'denied', by: data.by };
}
