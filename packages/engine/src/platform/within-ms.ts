import type { Clock } from '@caisson/ground';

/** Resolves with the work, or when that time is over; the work goes on then. */
export async function withinMs(
  clock: Pick<Clock, 'setTimer'>,
  limitMs: number,
  work: Promise<unknown>,
): Promise<void> {
  const over = Promise.withResolvers<void>();
  const cancel = clock.setTimer(limitMs, over.resolve);
  await Promise.race([work, over.promise]);
  cancel();
}
