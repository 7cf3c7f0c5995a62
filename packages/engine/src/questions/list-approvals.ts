import type { Ledger, StoredEvent } from '../ledger/index.ts';
import type { ApprovalRow, DecidedBy } from './contract.ts';

const TYPES = ['approval.requested', 'approval.decided'];

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
    const approvalId = String(event.data['approvalId']);
    const known = rows.get(approvalId);
    if (event.type === 'approval.requested') rows.set(approvalId, rowOf(event, approvalId, living));
    else if (known !== undefined) rows.set(approvalId, { ...known, ...decisionOf(event) });
  }
  return [...rows.values()].filter((row) => filter.openOnly !== true || row.status === 'open');
}

function rowOf(event: StoredEvent, approvalId: string, living: ReadonlySet<string>): ApprovalRow {
  const { tool, what, actionClass, deadlineAt } = event.data;
  const runId = event.runId ?? '';
  return {
    approvalId,
    runId,
    tool: String(tool),
    what: String(what),
    actionClass: String(actionClass),
    requestedAt: event.at,
    deadlineAt: String(deadlineAt),
    ...(living.has(runId) ? { status: 'open' } : { status: 'denied', by: 'ending' }),
  };
}

function decisionOf(event: StoredEvent): Pick<ApprovalRow, 'status' | 'by'> {
  return {
    status: event.data['decision'] === 'allow' ? 'allowed' : 'denied',
    by: event.data['by'] as DecidedBy,
  };
}
