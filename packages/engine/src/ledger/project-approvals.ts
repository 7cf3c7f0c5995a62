// An approval is open from its request to its decision. One that nobody decided ends with its attempt, as a denial.

import { definedOnly, isTerminal, knownTypeOf, type DataOf } from '@caisson/protocol';
import type { ApprovalRow } from './approval-row.ts';
import type { Draft } from './draft.ts';
import type { ProjectedEvent } from './project.ts';

const DENIED_BY_ENDING = { status: 'denied', by: 'ending' } as const;

export function projectApprovals(draft: Draft, event: ProjectedEvent): void {
  const runId = event.runId ?? '';
  if (event.type === 'approval.requested')
    return draft.putApproval(requestedApproval(draft, event, event.data));
  if (event.type === 'approval.decided') {
    const known = draft.approval(event.data.approvalId);
    const { decision, by } = event.data;
    if (known !== null)
      draft.putApproval({ ...known, status: decision === 'allow' ? 'allowed' : 'denied', by });
    return;
  }
  const type = knownTypeOf(event);
  if (type !== 'attempt.ended' && !isTerminal(type)) return;
  for (const open of draft.openApprovals(runId)) draft.putApproval({ ...open, ...DENIED_BY_ENDING });
}

function requestedApproval(
  draft: Draft,
  event: ProjectedEvent,
  { approvalId, tool, what, actionClass, deadlineAt, requestId }: DataOf<'approval.requested'>,
): ApprovalRow {
  const runId = event.runId ?? '';
  const row = { approvalId, runId, tool, what, actionClass, requestedAt: event.at };
  const place = { requestedOffset: event.offset, deadlineAt, ...definedOnly({ requestId }) };
  const isLive = draft.run(runId)?.status === 'running';
  return { ...row, ...place, ...(isLive ? { status: 'open' } : DENIED_BY_ENDING) };
}
