import { CaissonError } from '@caisson/protocol';
import type { Engine } from '../engine.ts';

/** Somebody took the run's contents away on purpose. That it happened is still in the ledger. */
export class RunForgottenError extends CaissonError {
  readonly code = 'RUN_FORGOTTEN';
}

export function isForgotten(engine: Pick<Engine, 'ledger'>, runId: string): boolean {
  return engine.ledger.kv.get('forgotten', runId) !== undefined;
}

/** Asked before contents are read, so that what still lies on the disk until the next gc is not shown either. */
export function requireRemembered(engine: Pick<Engine, 'ledger'>, runId: string): string {
  const forgottenAt = engine.ledger.kv.get('forgotten', runId);
  if (forgottenAt === undefined) return runId;
  throw new RunForgottenError(
    `${runId} was forgotten${typeof forgottenAt === 'string' ? ` at ${forgottenAt}` : ''}: its contents were taken away`,
    {
      remedy: `What is left of it: caisson show ${runId}`,
    },
  );
}
