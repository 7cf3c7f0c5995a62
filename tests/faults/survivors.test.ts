/**
 * Zero survivors: whatever a run started is gone when `caisson run` returns, and within two seconds of a kill -9 of
 * the host, of the worker, or of both at once. The long form is `npm run test:faults -- --kind trees --count 200`.
 */
import { describe, expect, it } from 'vitest';
import { endTree, TREE_ENDINGS, TREE_SANDBOXES } from './harness/kinds/trees.ts';
import { createRandom } from './process-trees.ts';

const TREES_EACH = 2;

describe('zero survivors', () => {
  for (const sandbox of TREE_SANDBOXES) {
    for (const ending of TREE_ENDINGS) {
      it(`leaves nothing of ${TREES_EACH} random trees after ${ending} (sandbox ${sandbox})`, async () => {
        for (let index = 0; index < TREES_EACH; index += 1) {
          const seed = index * 31 + TREE_ENDINGS.indexOf(ending) * 7 + TREE_SANDBOXES.indexOf(sandbox);
          const { violations } = await endTree({ ending, sandbox, random: createRandom(seed) });
          expect(violations).toEqual([]);
        }
      }, 600_000);
    }
  }
});
