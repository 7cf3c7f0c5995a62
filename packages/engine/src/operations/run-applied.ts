import type { DataOf } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { NO_ATTEMPT } from '../ledger/index.ts';

const EVENT = 'run.applied';

/**
 * Once, and again if conflicts were left the first time: what a person changes after that, also an undo, is theirs
 * (merge-work.ts). The files are changed already.
 */
export async function markApplied(
  { ledger, recorder }: Pick<Engine, 'ledger' | 'recorder'>,
  runId: string,
  data: DataOf<typeof EVENT>,
): Promise<void> {
  const row = ledger.run(runId);
  const hasNews =
    data.isPartial === true ||
    row?.appliedAt === undefined ||
    (row.appliedWithConflicts === true && !data.hasConflicts);
  if (hasNews) await recorder.of(runId).append(EVENT, data, NO_ATTEMPT);
}
