/** The kill ladder's lower half: a signal that can be caught, the grace, then the whole tree. */
import { systemClock, type SandboxProcess } from '@caisson/ground';
import type { AttemptContext, StopOrder } from '../attempt/index.ts';

/** Stops the process when the attempt is ordered to stop. Returns a function that ends this. */
export function obeyStop(context: AttemptContext, process: SandboxProcess): () => void {
  const { stop } = context.control;
  let stopTimer = (): void => undefined;
  const onStop = (): void => {
    const order = stop.reason as StopOrder;
    if (order.kind === 'host-lost' || order.graceMs === 0) {
      process.kill();
      return;
    }
    process.signalAgent(order.reason === 'interrupt' ? 'SIGINT' : 'SIGTERM');
    stopTimer = systemClock.setTimer(order.graceMs, () => process.kill());
  };
  stop.addEventListener('abort', onStop);
  if (stop.aborted) onStop();
  return () => {
    stopTimer();
    stop.removeEventListener('abort', onStop);
  };
}
