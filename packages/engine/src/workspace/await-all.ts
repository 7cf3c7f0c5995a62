/**
 * Like `Promise.all`, but a failure is thrown only when every task has ended: what a failed prepare removes must not be
 * written to any more.
 */
export async function awaitAll<T extends readonly unknown[] | []>(
  tasks: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const settled = Promise.allSettled(tasks);
  try {
    return await Promise.all(tasks);
  } finally {
    await settled;
  }
}
