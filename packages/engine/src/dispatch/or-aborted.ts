/** Invariant 12 for a wait that cannot be interrupted itself: who waits goes on, and what was waited for ends alone. */
export async function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    work.catch(() => undefined); // nobody is left to hear of it
  }
}
