/**
 * Zero survivors: whatever a run started is gone when `caisson run` returns, and within two seconds of a kill -9 of
 * the host, of the worker, or of both at once. The long form is `npm run test:faults -- --kind trees --count 200`.
 */
import { describe, expect, it } from 'vitest';
import { endTree, TREE_ENDINGS, TREE_SANDBOXES } from './harness/kinds/trees.ts';
import { createRandom } from './process-trees.ts';

describe('zero survivors', () => {
  for (const [at, sandbox] of TREE_SANDBOXES.entries()) {
    for (const [index, ending] of TREE_ENDINGS.entries()) {
      it(`leaves nothing of a random tree after ${ending} (sandbox ${sandbox})`, async () => {
        const { violations } = await endTree({ ending, sandbox, random: createRandom(index * 7 + at) });
        expect(violations).toEqual([]);
      }, 600_000);
    }
  }
});
