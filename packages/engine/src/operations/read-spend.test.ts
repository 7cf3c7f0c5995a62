import { expect, it } from 'vitest';
import { createMemoryLedger } from '../ledger/index.ts';
import { accepted, finished } from '../ledger/fixtures/sample-events.ts';
import { readSpend } from './read-spend.ts';

it('a plain command has no unknown cost, and what others do not know stays unknown', async () => {
  const ledger = createMemoryLedger();
  const endings = { command: undefined, codex: undefined, paid: 0.25 };
  for (const [name, costUsd] of Object.entries(endings)) {
    const runtime = name === 'codex' ? 'codex' : 'command';
    const runId = `run_${name}`;
    await ledger.append([
      accepted(runId, { runtime }),
      { ...finished(runId), data: { durationMs: 1, ...(costUsd === undefined ? {} : { costUsd }) } },
    ]);
  }
  const rows = readSpend({ ledger });
  expect(rows.map(({ runId, costUsd, unknownCosts }) => [runId, costUsd, unknownCosts])).toEqual([
    ['run_codex', null, 1],
    ['run_command', 0, 0],
    ['run_paid', 0.25, 0],
  ]);
  // As the runs themselves have it.
  for (const { runId, runtime } of rows) expect(ledger.run(runId)?.runtime).toBe(runtime);
  expect(readSpend({ ledger }, { newestFirst: true, limit: 1 })).toEqual(rows.slice(-1));
});
