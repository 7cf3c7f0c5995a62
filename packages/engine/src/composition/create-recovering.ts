import type { Clock } from '@caisson/ground';
import { withinMs } from '../platform/index.ts';
import type { Recovered } from '../recovery/index.ts';
import type { Engine } from './engine-contract.ts';

type RecoverOptions = NonNullable<Parameters<Engine['recover']>[0]>;

/** How long an end waits for the recovery that is under way; what is half settled then waits for the next process. */
const LAST_RECOVERY_MS = 5000;
const NOTHING: Recovered = { settled: [], left: [], adopted: [], adoptable: [], skipped: [] };

/** One at a time: calls that ask for the same share it, and others wait for their turn. */
export function createRecovering(
  clock: Pick<Clock, 'setTimer'>,
  start: (options: RecoverOptions) => Promise<Recovered>,
) {
  let current: { readonly key: string; readonly outcome: Promise<Recovered> } | null = null;
  let isClosed = false;
  const recoverDead: Engine['recover'] = async (options = {}) => {
    const key = JSON.stringify(options);
    while (current !== null && current.key !== key) await current.outcome.catch(() => undefined);
    if (current === null && isClosed) return NOTHING;
    current ??= { key, outcome: start(options).finally(() => (current = null)) };
    return await current.outcome;
  };
  /** Begins none any more, also for those that wait for their turn: everything is about to be closed. */
  const close = async (): Promise<void> => {
    isClosed = true;
    if (current === null) return;
    await withinMs(
      clock,
      LAST_RECOVERY_MS,
      current.outcome.catch(() => undefined),
    );
  };
  return { recoverDead, close };
}
