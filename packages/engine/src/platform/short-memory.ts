/** Returns what the last look with the same key found, or looks again. */
export type ShortMemory<T> = (key: string, look: () => T) => T;

const MOMENT_MS = 500;

/**
 * One look serves what is asked in the next moment: a dispatch asks several times, and many may be under way. What
 * changes in that moment could as well have changed just after the look. Only the last key is remembered, and no failure.
 */
export function createShortMemory<T>(): ShortMemory<T> {
  let seen: { readonly key: string; readonly untilMs: number; readonly found: T } | null = null;
  return (key, look) => {
    const nowMs = performance.now();
    if (seen !== null && seen.key === key && nowMs <= seen.untilMs) return seen.found;
    const found = look();
    seen = { key, untilMs: nowMs + MOMENT_MS, found };
    if (found instanceof Promise) found.catch(() => (seen = null));
    return found;
  };
}
