/** Enough to hide the time that a request to a server takes. */
export const MOST_AT_ONCE = 16;

/**
 * Works on all items, several at once. After a failure it starts nothing new, waits for what is under way, and throws.
 */
export async function forEachOf<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  atOnce = MOST_AT_ONCE,
): Promise<void> {
  const queue = items.values();
  let hasFailed = false;
  const run = async (): Promise<void> => {
    for (const item of queue) {
      if (hasFailed) return;
      await work(item).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, run));
  const failed = ended.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
