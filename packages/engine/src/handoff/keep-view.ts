import type { PoolHouse, WorkerPoolDeps } from './contract.ts';
import type { PoolView } from './pool-view.ts';

const READ_AGAIN_MS = 1000;

/** Resolves when the state is read. Until the signal it is followed, and read again if it cannot be followed on. */
export async function keepView(
  view: PoolView,
  house: PoolHouse,
  signal: AbortSignal,
  deps: Pick<WorkerPoolDeps, 'setTimeout' | 'log'>,
): Promise<void> {
  const again = (why: string): void => {
    if (signal.aborted) return;
    deps.log(`the pool's state is read again: ${why}`);
    deps.setTimeout(() => {
      if (!signal.aborted) keepView(view, house, signal, deps).catch((error: Error) => again(error.message));
    }, READ_AGAIN_MS);
  };
  const { followed } = await view.open(house, signal);
  followed.then(
    () => again('its events ended'),
    (error: Error) => again(error.message),
  );
}
