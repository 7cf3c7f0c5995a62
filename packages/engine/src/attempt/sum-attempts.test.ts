import type { Usage } from '@caisson/protocol';
import { expect, test } from 'vitest';
import type { Ledger } from '../ledger/index.ts';
import { sumAttempts } from './sum-attempts.ts';

const USAGE: Usage = {
  ...{ models: ['m'], inputTokens: 10, outputTokens: 4, cacheReadTokens: 0, cacheWriteTokens: 0 },
};

function sum(earlier: object[], last: Parameters<typeof sumAttempts>[2]) {
  const ledger = {
    run: () => ({ attempt: 2 }),
    read: () => earlier.map((data) => ({ data })),
  } as unknown as Ledger;
  return sumAttempts({ ledger }, 'run_a', last);
}

test('the cost of all attempts is summed, by the price table where the program reports none', () => {
  const total = sum([{ usage: USAGE, costUsd: 0.5, durationMs: 3 }], {
    ...{ usage: { ...USAGE, costUsd: 9 }, costUsd: 0.25, durationMs: 4 },
  });
  expect(total).toMatchObject({ attempts: 2, durationMs: 7, usage: { inputTokens: 20, costUsd: 0.75 } });
  const unknown = sum([{ usage: USAGE }], { usage: USAGE, costUsd: 0.25, durationMs: 4 });
  expect(unknown?.usage?.costUsd).toBeUndefined();
});
