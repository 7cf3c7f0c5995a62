import type { DataOf } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { NO_ATTEMPT } from '../ledger/index.ts';

type WithLedger = Pick<Engine, 'ledger'>;

const APPLIED = 'applied';
const EVENT = 'run.applied';

/** Once: what a person changes after that, also an undo, is theirs (merge-work.ts). The files are changed already. */
export async function markApplied(
  { ledger, recorder }: Pick<Engine, 'ledger' | 'recorder'>,
  runId: string,
  data: DataOf<typeof EVENT>,
): Promise<void> {
  const isRecorded = ledger.read({ runId, types: [EVENT] }).length > 0;
  if (!isRecorded) await recorder.of(runId).append(EVENT, data, NO_ATTEMPT);
  const [event] = ledger.read({ runId, types: [EVENT] });
  if (event !== undefined) ledger.kv.set(APPLIED, runId, event.at);
}

/** When each run was applied, for a command that looks at all of them. */
export function listApplied({ ledger }: WithLedger): ReadonlyMap<string, string> {
  return new Map(ledger.kv.list(APPLIED).map(({ key, value }) => [key, String(value)]));
}

/** When the run was applied. For a list only: the row is found without reading the run, and the event counts. */
export function findAppliedAt({ ledger }: WithLedger, { runId }: { runId: string }): string | undefined {
  const at = ledger.kv.get(APPLIED, runId);
  return typeof at === 'string' ? at : undefined;
}
