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
/** Few, because what is remembered for long makes V8 take more memory; more runs than this are rarely under way at once. */
const MAX_REMEMBERED = 32;

/** The row finds it quickly; only the event counts, so that a changed row hides nothing. */
export function isForgotten({ ledger }: WithLedger, runId: string): boolean {
  return ledger.run(runId)?.forgottenAt !== undefined && hasEvent(ledger, runId);
}

/** The run's contents are hidden from now on, even if their removal is interrupted. */
export async function markForgotten({ recorder }: Pick<Engine, 'recorder'>, runId: string): Promise<void> {
  await recorder.of(runId).append(EVENT, {}, { ...NO_ATTEMPT, id: `${EVENT}:${runId}` });
}

/** `isForgotten` for who asks again and again about the same few runs. */
export function rememberForgotten(rooms: WithLedger): (runId: string) => boolean {
  const known = new Map<string, boolean>();
  return (runId) => {
    const answer = known.get(runId) ?? isForgotten(rooms, runId);
    if (known.size >= MAX_REMEMBERED) known.clear();
    known.set(runId, answer);
    return answer;
  };
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
