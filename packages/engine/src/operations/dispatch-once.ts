/**
 * With an idempotency key a task becomes at most one run, in any number of processes. The ledger decides: it accepts a
 * key once. The lease only prevents two hosts from admitting the same task at the same time.
 */
import type { Attachment, DispatchRequest, RunHandle } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { IdempotencyKeyTakenError } from '../ledger/index.ts';
import { attachRun } from './attach-run.ts';
import { findRunOfKey } from './find-run-of-key.ts';

const POLL_MS = 50;
/** An admission that takes longer than this may belong to a dead host. */
const LOOK_AFTER_POLLS = 20;

export async function dispatchOnce(
  engine: Engine,
  request: DispatchRequest,
  attachment?: Attachment,
): Promise<RunHandle> {
  const key = (request as DispatchRequest | null)?.idempotencyKey; // admission refuses what is no request
  if (key === undefined) return engine.dispatcher.dispatch(request, attachment);
  const { leases, whenFree } = engine.ledger;
  const name = `idempotency:${key}`;
  const tryHold = (): boolean => leases.tryHold(name, engine.hostId, engine.hostId);
  for (let polls = 1; !(await whenFree(tryHold)); polls += 1) {
    await new Promise((resolve) => engine.clock.setTimer(POLL_MS, () => resolve(undefined)));
    if (polls % LOOK_AFTER_POLLS === 0) await engine.recover({ isRepeated: true });
  }
  try {
    const taken = await findRunOfKey(engine, request);
    return taken === null ? await engine.dispatcher.dispatch(request, attachment) : earlier(engine, taken);
  } catch (error) {
    if (error instanceof IdempotencyKeyTakenError) return earlier(engine, error.runId); // by a background host
    throw error;
  } finally {
    await whenFree(() => leases.free(name, engine.hostId));
  }
}

function earlier(engine: Engine, runId: string): RunHandle {
  return attachRun(engine, runId, { isEarlier: true });
}
