import { CaissonError } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { TamperedError } from '../evidence/index.ts';
import { NO_ATTEMPT } from '../ledger/index.ts';

/** A user deleted the run's contents on purpose. Its events are still in the ledger. */
export class RunForgottenError extends CaissonError {
  readonly code = 'RUN_FORGOTTEN';
}

type WithLedger = Pick<Engine, 'ledger'>;

/** Where the marks are. */
export const FORGOTTEN = 'forgotten';
const EVENT = 'run.forgotten';

/** The row finds it quickly; only the event, which is recorded before it, counts. */
export function isForgotten({ ledger }: WithLedger, runId: string): boolean {
  return ledger.kv.get(FORGOTTEN, runId) !== undefined && ledger.read({ runId, types: [EVENT] }).length > 0;
}

/** When that was. For a list only, as above. */
export function findForgottenAt({ ledger }: WithLedger, { runId }: { runId: string }): string | undefined {
  const at = ledger.kv.get(FORGOTTEN, runId);
  return typeof at === 'string' ? at : undefined;
}

/** The run's contents are hidden from now on, even if their removal is interrupted. */
export async function markForgotten(
  { ledger, recorder, clock }: Pick<Engine, 'ledger' | 'recorder' | 'clock'>,
  runId: string,
): Promise<void> {
  await recorder.of(runId).append(EVENT, {}, { ...NO_ATTEMPT, id: `${EVENT}:${runId}` });
  ledger.kv.set(FORGOTTEN, runId, clock.now().toISOString());
}

export function listForgotten(engine: WithLedger): ReadonlySet<string> {
  const marked = engine.ledger.kv.list(FORGOTTEN).map(({ key }) => key);
  return new Set(marked.filter((runId) => isForgotten(engine, runId)));
}

/** Marks without an event. The event is recorded before the mark, so these were planted. */
export function listPlanted(engine: WithLedger): readonly string[] {
  const marked = engine.ledger.kv.list(FORGOTTEN).map(({ key }) => key);
  return marked.filter((runId) => !isForgotten(engine, runId));
}

/** Checked before contents are read, so that what is still on the disk until the next gc is hidden too. */
export function requireRemembered(engine: WithLedger, runId: string): string {
  const forgottenAt = engine.ledger.kv.get(FORGOTTEN, runId);
  if (forgottenAt === undefined) return runId;
  if (!isForgotten(engine, runId))
    throw new TamperedError(`${runId} is marked as forgotten, but no event records that`, {
      remedy: `If you want it forgotten: caisson forget ${runId}. Else: caisson doctor --repair`,
    });
  throw new RunForgottenError(
    `${runId} was forgotten${typeof forgottenAt === 'string' ? ` at ${forgottenAt}` : ''}: its contents were deleted`,
    {
      remedy: `What is left of it: caisson show ${runId}`,
    },
  );
}
