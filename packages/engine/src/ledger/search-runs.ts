// Runs that are looked for: the rows between two of them at a time, so that nothing holds the event loop for as long as it takes
// to look at every run, and a page that is full ends the search.

import { shareTurn } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import type { RunFilter, RunRow } from './contract.ts';
import { isOfFew } from './run-filter.ts';

/** So many runs are looked at in one piece: about a millisecond. */
const PIECE = 256;

export interface Searched {
  runs(filter: RunFilter): RunRow[];
  /** The run at this place of the order, whatever the other conditions are; null behind the last one. */
  runAt(filter: RunFilter, index: number): string | null;
}

export async function searchRuns(filter: RunFilter, { runs, runAt }: Searched): Promise<RunRow[]> {
  if (!isSearch(filter)) return runs(filter);
  const { limit } = filter;
  const found: RunRow[] = [];
  for (let after = filter.after; ;) {
    await shareTurn();
    const left = { ...filter, ...definedOnly({ after }) };
    const upTo = runAt(left, PIECE - 1);
    const rest = limit === undefined ? {} : { limit: limit - found.length };
    found.push(...runs({ ...left, ...rest, ...(upTo === null ? {} : { upTo }) }));
    if (upTo === null || found.length === limit) return found;
    after = upTo;
  }
}

/** One condition has an index with the order of the list; what a second one leaves out, or a text, is found by looking. */
function isSearch(filter: RunFilter): boolean {
  const { status, session, agent, runtime, since, until, order } = filter;
  if (filter.ids !== undefined || filter.idempotencyKey !== undefined || isOfFew(filter)) return false;
  const isTimed = since !== undefined || until !== undefined || order === 'ended';
  const conditions = [status, session, agent, runtime];
  const count = conditions.filter((given) => given !== undefined).length + (isTimed ? 1 : 0);
  return filter.text !== undefined || count > 1;
}
