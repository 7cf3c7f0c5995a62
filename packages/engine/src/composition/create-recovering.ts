import type { Recovered } from '../recovery/index.ts';
import type { Engine } from './engine-contract.ts';

type RecoverOptions = NonNullable<Parameters<Engine['recover']>[0]>;

/** One at a time: calls that ask for the same share it, and others wait for their turn. */
export function createRecovering(start: (options: RecoverOptions) => Promise<Recovered>) {
  let current: { readonly key: string; readonly outcome: Promise<Recovered> } | null = null;
  const recoverDead: Engine['recover'] = async (options = {}) => {
    const key = JSON.stringify(options);
    while (current !== null && current.key !== key) await current.outcome.catch(() => undefined);
    current ??= { key, outcome: start(options).finally(() => (current = null)) };
    return await current.outcome;
  };
  /** What is half settled would wait for the next process. */
  const untilIdle = async (): Promise<void> => void (await current?.outcome.catch(() => undefined));
  return { recoverDead, untilIdle };
}
