import { expect, test } from 'vitest';
import type { RunFilter } from './contract.ts';
import { searchRuns } from './search-runs.ts';

/** How many pieces are looked at. */
async function countPieces(filter: RunFilter): Promise<number> {
  let pieces = 0;
  await searchRuns(filter, {
    runs: () => [],
    runAt: () => (pieces++ < 3 ? `run_${pieces}` : null),
  });
  return pieces;
}

test.each<[pieces: number, filter: RunFilter]>([
  [0, { agent: 'a' }],
  [4, { agent: 'a', status: 'done' }],
  [4, { text: 'login' }],
  [0, { continues: 'run_x', agent: 'a' }],
  [0, { waitingBranch: 'pending', text: 'login' }],
  [0, { unsealed: true, status: 'done' }],
])('%d pieces are looked at for %o', async (pieces, filter) => {
  expect(await countPieces(filter)).toBe(pieces);
});
