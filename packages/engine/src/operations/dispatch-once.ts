/** With an idempotency key a task becomes at most one run, whichever processes ask for it. */
import type { DispatchRequest, RunHandle } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { createRunId } from '../platform/index.ts';
import { attachRun } from './attach-run.ts';

export async function dispatchOnce(engine: Engine, request: DispatchRequest): Promise<RunHandle> {
  const key = request.idempotencyKey;
  if (key === undefined) return engine.dispatcher.dispatch(request);
  const { leases } = engine.ledger;
  const name = `idempotency:${key}`;
  const runId = request.runId ?? createRunId(engine.clock);
  if (!leases.tryHold(name, runId)) {
    const holder = leases.holderOf(name)?.holder ?? runId;
    return attachRun(engine, holder);
  }
  try {
    return await engine.dispatcher.dispatch({ ...request, runId });
  } catch (error) {
    leases.free(name, runId); // refused: the key is still unused
    throw error;
  }
}
