/** The host that pauses a call decides it; any process may send the decision there. */
import { CaissonError } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { listApprovals, type ApprovalDecision, type ApprovalRow } from '../questions/index.ts';

/** There is no such approval, or it was already decided. */
export class ApprovalClosedError extends CaissonError {
  readonly code = 'APPROVAL_CLOSED';
}

/** It waits, but its host cannot decide it at this moment. */
export class ApprovalNotReadyError extends CaissonError {
  readonly code = 'APPROVAL_NOT_READY';
  override readonly retryable = true;

  constructor(approvalId: string) {
    super(`${approvalId} was not decided: its host cannot decide it now`, {
      remedy: 'Decide it again in a moment. caisson approvals lists what waits.',
    });
  }
}

const MIN_CHARACTERS = 4;

/** `given` is an approval's id, a unique ending of it, its run, or `latest`. */
export async function decideApproval(
  engine: Engine,
  given: string,
  decision: ApprovalDecision,
): Promise<ApprovalRow> {
  const approval = findOpenApproval(engine, given);
  if (await engine.approvals.decide(approval.approvalId, decision)) return approval;
  const host = engine.ledger.run(approval.runId)?.host ?? '';
  const reply = await engine.hosts.order(host, {
    kind: 'decide',
    runId: approval.runId,
    approvalId: approval.approvalId,
    decision,
  });
  if (reply.ok) return approval;
  const now = findApproval(engine, approval.approvalId);
  throw now.status === 'open' ? new ApprovalNotReadyError(now.approvalId) : closed(now);
}

/** The waiting call that is meant. Throws ApprovalClosedError. */
export function findOpenApproval(engine: Engine, given: string): ApprovalRow {
  const approval = findApproval(engine, given);
  if (approval.status !== 'open') throw closed(approval);
  return approval;
}

export function findApproval(engine: Pick<Engine, 'ledger'>, given: string): ApprovalRow {
  const { ledger } = engine;
  const open = listApprovals(ledger, { openOnly: true });
  if (given === 'latest') {
    const last = open.at(-1);
    if (last !== undefined) return last;
  }
  const isEnd = given.length >= MIN_CHARACTERS;
  const matches = (row: ApprovalRow): boolean =>
    row.approvalId === given || row.runId === given || (isEnd && row.approvalId.endsWith(given));
  const found = open.filter(matches);
  if (found.length > 1)
    throw new ApprovalClosedError(`"${given}" names ${found.length} open approvals`, {
      remedy: `Name one of ${found.map((row) => row.approvalId).join(', ')}.`,
    });
  const one = found[0] ?? ledger.approval(given) ?? listApprovals(ledger, { runId: given }).at(-1);
  const last = one ?? (isEnd ? ledger.approvals({ idEnd: given }).at(-1) : undefined);
  if (last !== undefined) return last;
  throw new ApprovalClosedError(`there is no approval ${given}`, {
    remedy: 'caisson approvals lists what waits.',
  });
}

function closed(approval: ApprovalRow): ApprovalClosedError {
  const by = {
    user: 'by a person',
    deadline: 'because there was no answer in time',
    ending: 'when its run ended',
  };
  const how = approval.by === undefined ? '' : ` ${by[approval.by]}`;
  return new ApprovalClosedError(`${approval.approvalId} was ${approval.status} already${how}`);
}
