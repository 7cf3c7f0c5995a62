/** Enough to keep the disk busy, few enough for a limit of open files. */
const AT_ONCE = 32;

/** Calls the same function for every item, some at the same time, and returns the results in order. */
export async function mapAtOnce<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const part = items.slice(at, at + AT_ONCE).map((item, offset) => work(item, at + offset));
    const settled = await Promise.allSettled(part); // the caller continues only when all are done
    for (const one of settled) {
      if (one.status === 'rejected') throw one.reason;
      results.push(one.value);
    }
  }
  return results;
}
