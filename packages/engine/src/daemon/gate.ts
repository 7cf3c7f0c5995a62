/** Lets work in while the daemon serves, and knows what of it has not been accepted or carried out yet (DM3). */
import { DaemonStoppingError } from './errors.ts';

export interface Gate {
  /** Throws DaemonStoppingError once the gate is closed. */
  enter<T>(work: () => Promise<T>): Promise<T>;
  /** What was let in and has not been accepted, carried out or refused. None of them rejects. */
  entering(): readonly Promise<unknown>[];
}

export function createGate(isOpen: () => boolean): Gate {
  const entering = new Set<Promise<unknown>>();
  return {
    async enter(work) {
      if (!isOpen()) throw new DaemonStoppingError();
      const result = work();
      const settled = result.catch(() => undefined).finally(() => entering.delete(settled));
      entering.add(settled);
      return await result;
    },
    entering: () => [...entering],
  };
}
