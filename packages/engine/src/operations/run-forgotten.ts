import { CaissonError } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { TamperedError } from '../evidence/index.ts';
import { NO_ATTEMPT } from '../ledger/index.ts';

/** A user deleted the run's contents on purpose. Its events are still in the ledger. */
export class RunForgottenError extends CaissonError {
  readonly code = 'RUN_FORGOTTEN';
}

type WithLedger = Pick<Engine, 'ledger'>;

const EVENT = 'run.forgotten';

/** The row finds it quickly; only the event counts, so that a changed row hides nothing. */
export function isForgotten({ ledger }: WithLedger, runId: string): boolean {
  return ledger.run(runId)?.forgottenAt !== undefined && hasEvent(ledger, runId);
}

/** The run's contents are hidden from now on, even if their removal is interrupted. */
export async function markForgotten({ recorder }: Pick<Engine, 'recorder'>, runId: string): Promise<void> {
  await recorder.of(runId).append(EVENT, {}, { ...NO_ATTEMPT, id: `${EVENT}:${runId}` });
}

export function listForgotten({ ledger }: WithLedger): ReadonlySet<string> {
  const marked = ledger.runs().filter(({ forgottenAt }) => forgottenAt !== undefined);
  return new Set(marked.map(({ runId }) => runId).filter((runId) => hasEvent(ledger, runId)));
}

/** Checked before contents are read, so that what is still on the disk until the next gc is hidden too. */
export function requireRemembered({ ledger }: WithLedger, runId: string): string {
  const forgottenAt = ledger.run(runId)?.forgottenAt;
  if (forgottenAt === undefined) return runId;
  if (!hasEvent(ledger, runId))
    throw new TamperedError(`${runId} is marked as forgotten, but no event records that`, {
      remedy: `If you want it forgotten: caisson forget ${runId}. Else: caisson doctor --repair`,
    });
  throw new RunForgottenError(`${runId} was forgotten at ${forgottenAt}: its contents were deleted`, {
    remedy: `What is left of it: caisson show ${runId}`,
  });
}

function hasEvent(ledger: Engine['ledger'], runId: string): boolean {
  return ledger.read({ runId, types: [EVENT] }).length > 0;
}
