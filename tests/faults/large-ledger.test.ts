/** What is read of a large ledger costs what it costs in a small one; `npm run bench -- read-model` has the figures. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { fillLedger } from '../../bench/read-model/fill-ledger.ts';
import { openLedger, type Ledger } from '../../packages/engine/src/ledger/index.ts';
import { resolveRunId } from '../../packages/engine/src/operations/resolve-run-id.ts';

const SMALL = 1000;
const LARGE = 20_000;
const ROUNDS = 15;
/** A read of all rows takes 20 times as long; a cold page of the file some microseconds. */
const AT_MOST = 6;

interface Filled {
  readonly ledger: Ledger;
  readonly ids: readonly string[];
}

async function fill(runs: number): Promise<Filled> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-large-ledger-'));
  const file = join(folder, 'ledger.db');
  const ids = await fillLedger(file, runs);
  const ledger = openLedger(file);
  onTestFinished(async () => {
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { ledger, ids };
}

const middle = ({ ids }: Filled): string => ids[Math.floor(ids.length / 2)] ?? '';
const PAGE = { newestFirst: true, limit: 50 } as const;

const READS: Readonly<Record<string, (filled: Filled) => unknown>> = {
  'a page': ({ ledger }) => ledger.runs(PAGE),
  'a page in the middle': (filled) => filled.ledger.runs({ ...PAGE, after: middle(filled) }),
  'a page of two statuses': ({ ledger }) => ledger.runs({ ...PAGE, status: ['done', 'error'] }),
  'a page of an agent': ({ ledger }) => ledger.runs({ ...PAGE, agent: 'agent-1' }),
  'a page of a time': ({ ledger }) => ledger.runs({ ...PAGE, until: '2026-01-01T02:00:00.000Z' }),
  'a page with a text': ({ ledger }) => ledger.runs({ ...PAGE, text: 'beans' }),
  'the runs that ended last': ({ ledger }) => ledger.runs({ ...PAGE, order: 'ended' }),
  latest: ({ ledger }) => resolveRunId(ledger, 'latest'),
  'a beginning': (filled) => resolveRunId(filled.ledger, middle(filled).slice(0, -4)),
  'an end': (filled) => resolveRunId(filled.ledger, middle(filled).slice(-8)),
  'open approvals': ({ ledger }) => ledger.approvals({ status: 'open' }),
  'open questions': ({ ledger }) => ledger.questions({ status: 'open' }),
  'runs under way': ({ ledger }) => ledger.runs({ status: ['queued', 'running'] }),
};

/** The best of several rounds in turns: what a busy neighbour takes is not ours. */
function compare(read: (filled: Filled) => unknown, small: Filled, large: Filled): [number, number] {
  const best: [number, number] = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [index, filled] of [small, large].entries()) {
      const begun = performance.now();
      read(filled);
      best[index] = Math.min(best[index] ?? Infinity, performance.now() - begun);
    }
  return best;
}

it('20,000 runs are listed and found as quickly as 1,000', async () => {
  const [small, large] = [await fill(SMALL), await fill(LARGE)];
  const slow = Object.entries(READS).flatMap(([name, read]) => {
    const [few, many] = compare(read, small, large);
    return many <= AT_MOST * few ? [] : [`${name}: ${few.toFixed(3)} ms, ${many.toFixed(3)} ms`];
  });
  expect(slow).toEqual([]);
  expect(large.ledger.runs({ ...PAGE, after: middle(large) }).length).toBe(50);
}, 120_000);
