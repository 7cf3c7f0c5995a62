/** An idempotency key belongs to one task: a second request gets the run that it became. */
import { refuseTask, describeTask, type DispatchRequest } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import type { RunRow } from '../ledger/index.ts';

/** The run that this request's key became, or `null`. Throws TaskRefusedError when the key was given to another task. */
export async function findRunOfKey(engine: Engine, request: DispatchRequest): Promise<string | null> {
  // A request of any shape: admission refuses what is none.
  const { idempotencyKey } = (request as DispatchRequest | null) ?? {};
  if (typeof idempotencyKey !== 'string') return null;
  const [row] = engine.ledger.runs({ idempotencyKey });
  if (row === undefined) return null;
  if (isSameTask(request, row)) return row.runId;
  throw await refuseTask(engine.rooms, request, {
    check: 'idempotency-key',
    kind: 'usage',
    detail: `the idempotency key "${idempotencyKey}" belongs to ${row.runId}, which has another task`,
    remedy: `Use another key for another task; caisson show ${row.runId} shows that run.`,
  });
}

/** Compares what identifies a task, not how it is run: limits and priority may differ. */
function isSameTask(request: DispatchRequest, row: RunRow): boolean {
  const isEqual = (asked: string | undefined, had: string | undefined): boolean =>
    asked === undefined || asked === had;
  return (
    describeTask(request) === row.description &&
    isEqual(request.agent, row.agent) &&
    isEqual(request.runtime, row.runtime)
  );
}
