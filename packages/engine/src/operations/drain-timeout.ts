import type { Engine } from '../engine.ts';
import { NO_ATTEMPT } from '../ledger/index.ts';

/** Once: a run of no pool, one that did not time out, and one that is drained already stay as they are. */
export async function drainTimeout(
  { ledger, recorder }: Pick<Engine, 'ledger' | 'recorder'>,
  runId: string,
): Promise<void> {
  const { status, worker } = ledger.run(runId) ?? {};
  if (status !== 'timeout' || worker === undefined || worker.drainedAt !== undefined) return;
  await recorder.of(runId).append('timeout.drained', {}, NO_ATTEMPT);
}
