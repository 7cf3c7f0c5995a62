/** The circuit breaker: a task that failed many times in the same way is not tried again. */
import type { Failure } from '@caisson/protocol';
import type { RunRow } from '../ledger/index.ts';

/** How often a chain of retries may fail in one way. */
export const MAX_IDENTICAL_FAILURES = 5;

/** How many runs of this chain, newest first, failed for one and the same reason. */
export function countIdenticalFailures(
  newest: string | undefined,
  find: (runId: string) => Pick<RunRow, 'failure' | 'continues'> | null,
): number {
  let count = 0;
  let first: Failure | undefined;
  for (let runId = newest; runId !== undefined && count < MAX_IDENTICAL_FAILURES;) {
    const row = find(runId);
    if (row?.failure === undefined) return count;
    first ??= row.failure;
    if (likenessOf(row.failure) !== likenessOf(first)) return count;
    count += 1;
    runId = row.continues;
  }
  return count;
}

/** Without what differs each time: ids, numbers, times. */
function likenessOf({ reason, cause, detail }: Failure): string {
  const words = detail.toLowerCase().split(/[^\p{L}\p{N}_-]+/u);
  return JSON.stringify([reason, cause, words.filter((word) => !/\d/.test(word))]);
}
