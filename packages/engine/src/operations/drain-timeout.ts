import type { Engine } from '../engine.ts';
import { NO_ATTEMPT } from '../ledger/index.ts';

/** Once: a run that did not time out, or is drained already, stays as it is. */
export async function drainTimeout(
  { ledger, recorder }: Pick<Engine, 'ledger' | 'recorder'>,
  runId: string,
): Promise<void> {
  const row = ledger.run(runId);
  if (row?.status !== 'timeout' || row.worker?.drainedAt !== undefined) return;
  await recorder.of(runId).append('timeout.drained', {}, NO_ATTEMPT);
}
