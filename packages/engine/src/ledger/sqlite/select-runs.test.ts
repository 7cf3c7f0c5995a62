import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { RunFilter } from '../run-filter.ts';
import { openDatabase } from './open-database.ts';
import { selectRuns } from './select-runs.ts';

/** How SQLite would read the page. */
function planOf(filter: RunFilter): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
  const db = openDatabase(join(folder, 'ledger.db'));
  onTestFinished(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { sql, values } = selectRuns({ newestFirst: true, limit: 50, ...filter });
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
  return steps.map(({ detail }) => detail).join('\n');
}

const AT = '2026-01-02T03:04:05.006Z';

test.each<[string, RunFilter]>([
  ['runs_by_acceptance', {}],
  ['runs_by_acceptance', { text: 'login' }],
  ['runs_by_status', { status: 'done' }],
  ['runs_by_session', { session: 's' }],
  ['runs_by_agent', { agent: 'a' }],
  ['runs_by_runtime', { runtime: 'r' }],
  ['runs_by_earlier', { continues: 'run_x' }],
  ['runs_unsealed', { unsealed: true }],
  ['runs_by_waiting_branch', { waitingBranch: 'pending' }],
  ['runs_by_earlier', { continues: 'run_x', agent: 'a', status: 'done' }],
  ['runs_unsealed', { unsealed: true, runtime: 'r' }],
  ['runs_by_waiting_branch', { waitingBranch: 'pending', session: 's', text: 'login' }],
  ['runs_by_time', { since: AT }],
  ['runs_by_time', { since: AT, until: AT, status: ['done', 'error'], agent: 'a', session: 's' }],
  ['runs_by_ending', { order: 'ended' }],
  ['runs_by_ending', { order: 'ended', runtime: 'r', status: 'done' }],
])('a page is read along %s for %o, and nothing is sorted', (index, filter) => {
  for (const page of [filter, { ...filter, after: 'run_x' }, { ...filter, newestFirst: false }]) {
    const plan = planOf(page);
    expect(plan).toContain(`INDEX ${index}`);
    expect(plan).not.toContain('TEMP B-TREE');
  }
});

test('of several statuses a page each is read, and those pages alone are sorted', () => {
  const plan = planOf({ status: ['done', 'error'], after: 'run_x' });
  expect(
    plan.match(/SEARCH runs USING INDEX runs_by_status \(status=\? AND accepted_offset<\?\)/g)?.length,
  ).toBe(2);
});
