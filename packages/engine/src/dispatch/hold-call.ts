/** A tool call of an agent waits for a decision; the whole of it is stored, so that who decides can read it. */
import * as z from 'zod/mini';
import { definedOnly } from '@caisson/protocol';
import type { DispatchRooms, RequestHandler } from '../admission/index.ts';
import { listApprovals, type ApprovalRow, type Approvals, type StoredCall } from '../questions/index.ts';

/** The worker cuts it before; this is only a limit. */
const MAX_CALL_CHARACTERS = 256 * 1024;

const text = (max: number) => z.string().check(z.minLength(1), z.maxLength(max));

const ApproveBody = z.object({
  ...{ tool: text(256), what: z.string(), actionClass: text(64) },
  call: z.optional(z.object({ text: text(MAX_CALL_CHARACTERS), leftOut: z.int().check(z.nonnegative()) })),
});
type WaitingCall = NonNullable<z.infer<typeof ApproveBody>['call']>;

export type CallRooms = Pick<DispatchRooms, 'store' | 'ledger'>;

export interface AskedApproval {
  readonly requestId: string;
  readonly body: unknown;
  /** Null unless a host before this one was asked, too. */
  readonly waitedMs: number | null;
}

export async function holdCall(
  approvals: Pick<Approvals, 'request'>,
  rooms: CallRooms,
  run: Parameters<RequestHandler['answer']>[0],
  { requestId, body, waitedMs }: AskedApproval,
): Promise<unknown> {
  const found = waitedMs === null ? undefined : findEarlier(rooms, run.runId, requestId);
  const decided = readDecision(found);
  if (decided !== null) return decided;
  const { call, ...described } = z.parse(ApproveBody, body);
  return approvals.request({
    ...described,
    ...definedOnly({ storeCall: call && (() => putCall(rooms, call)) }),
    ...{ requestId, runId: run.runId, emit: run.emit },
    earlier: found && describeEarlier(found, waitedMs ?? 0),
  });
}

async function putCall({ store }: CallRooms, { text: all, leftOut }: WaitingCall): Promise<StoredCall> {
  const { digest } = await store.putBlob(Buffer.from(all));
  return { ref: digest, characters: all.length, leftOut };
}

/** What the host before recorded of this request. */
function findEarlier({ ledger }: CallRooms, runId: string, requestId: string) {
  return listApprovals(ledger, { runId }).find((row) => row.requestId === requestId);
}

/** What is left is counted by the worker's clock: the wall clock may have jumped while no host was there. */
function describeEarlier({ approvalId, requestedAt, deadlineAt }: ApprovalRow, waitedMs: number) {
  return { approvalId, leftMs: Math.max(0, Date.parse(deadlineAt) - Date.parse(requestedAt) - waitedMs) };
}

function readDecision(row: ApprovalRow | undefined) {
  if (row === undefined || row.status === 'open') return null;
  return { decision: row.status === 'allowed' ? 'allow' : 'deny', by: row.by };
}
