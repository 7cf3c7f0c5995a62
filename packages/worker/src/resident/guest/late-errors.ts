/**
 * Errors that nobody caught, in a thread that makes one compute after another. One of a compute that is over costs no other; one of
 * the present compute, or of none, ends the thread as it does everywhere.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Runs the code of one compute; what it leaves behind stays its own. */
export type RunCompute = (work: () => void | Promise<void>) => Promise<void>;

export function watchLateErrors(onLate: (error: unknown) => void): RunCompute {
  const computes = new AsyncLocalStorage<{ isOver: boolean }>();
  const own = process; // the user's code may change the global one
  own.on('uncaughtException', (error) => {
    if (own.listenerCount('uncaughtException') > 1) return; // the user's code has taken it over
    if (computes.getStore()?.isOver !== true) throw error;
    onLate(error);
  });
  return async (work) => {
    const compute = { isOver: false };
    try {
      await computes.run(compute, work);
    } finally {
      compute.isOver = true;
    }
  };
}
