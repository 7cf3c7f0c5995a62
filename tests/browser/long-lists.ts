import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createId } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { fillLedger } from '../../bench/read-model/fill-ledger.ts';
import {
  accepted,
  fact,
  finished,
  launched,
  started,
} from '../../packages/engine/src/ledger/fixtures/sample-events.ts';
import { openLedger, type NewEvent } from '../../packages/engine/src/ledger/index.ts';
import { SEEN_MS, type Stage } from './open-page.ts';
import { ROUNDS } from './scene.ts';

const LIMIT_MS = 120_000;
const CALLS = 1250;
const RUNS = 1200;
const COMMANDS = 60;
const BEGUN_MS = Date.UTC(2026, 2, 3);

/** Lists that are longer than one answer of the host. */
export function describeLongLists(at: () => Stage): void {
  it(
    'of a run with 2,500 events the timeline has the first and the last',
    { timeout: LIMIT_MS },
    async () => {
      const { scene, page, go } = at();
      const runId = await addLongRun(ledgerOf(scene.project.root));
      await go(`runs/${runId}/timeline`);
      await page.getByText(`Tools (${CALLS})`).waitFor({ timeout: SEEN_MS });
      const parts = page.getByRole('region', { name: 'All parts' });
      await parts.getByText('call number 1 of').waitFor();
      await parts.focus();
      await page.keyboard.press('End');
      await parts.getByText(`call number ${CALLS} of`).waitFor({ timeout: SEEN_MS });
    },
  );

  it('the costs of 1,200 runs of a day add up', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go } = at();
    const rowOf = (name: string) =>
      page.getByRole('region', { name: 'By day' }).getByRole('row', { name: `${name} $` });
    const read = async (): Promise<number[]> => {
      await rowOf('2026-01-01').waitFor({ timeout: SEEN_MS });
      const cells = await rowOf('2026-01-01').getByRole('cell').allInnerTexts();
      return [Number(cells[1]?.replace('$', '')), Number(cells.at(-1)?.replace(',', ''))];
    };
    await fillLedger(ledgerOf(scene.project.root), 1);
    await go('costs');
    const [usd = 0, runs = 0] = await read();
    await fillLedger(ledgerOf(scene.project.root), RUNS);
    await go('costs');
    const [nextUsd = 0, nextRuns = 0] = await read();
    expect([nextRuns - runs, Math.round((nextUsd - usd) * 100)]).toEqual([RUNS, RUNS]);
  });
  describeOldWork(at);
}

function describeOldWork(at: () => Stage): void {
  it(
    'work that waits stays in the inbox when many commands end after it',
    { timeout: LIMIT_MS },
    async () => {
      const { scene, page, go } = at();
      const work = page.locator('.kind-work', { hasText: ROUNDS });
      await go('');
      await work.first().waitFor({ timeout: SEEN_MS });
      await addCommands(ledgerOf(scene.project.root), COMMANDS);
      await go('');
      await work.first().waitFor({ timeout: SEEN_MS });
    },
  );
}

/** Commands that end after everything else, and left nothing. */
async function addCommands(file: string, count: number): Promise<void> {
  const endedMs = Date.now() + 3_600_000;
  const events = Array.from({ length: count }, (_, index) => {
    const runId = createId('run', endedMs + index, randomBytes(10));
    const of = [accepted(runId), launched(runId, 1), started(runId), finished(runId)];
    return of.map((event) => ({ ...event, at: new Date(endedMs + index).toISOString() }));
  });
  const ledger = openLedger(file);
  try {
    await ledger.append(events.flat());
  } finally {
    await ledger.close();
  }
}

function ledgerOf(root: string): string {
  return join(root, '.caisson', 'ledger.db');
}

/** A run that ended, with 2,500 recorded calls and their ends. */
async function addLongRun(file: string): Promise<string> {
  const runId = createId('run', BEGUN_MS, randomBytes(10));
  const call = (number: number, type: string, data: object): NewEvent => ({
    ...fact(runId, { callId: `call_${number}`, tool: 'bash', ...data }),
    type,
  });
  const calls = Array.from({ length: CALLS }, (_, index) => [
    call(index, 'tool.started', { what: `call number ${index + 1} of many` }),
    call(index, 'tool.ended', { ok: true, durationMs: 1 }),
  ]);
  const events = [accepted(runId), launched(runId, 1), started(runId), ...calls.flat(), finished(runId)];
  const ledger = openLedger(file);
  try {
    await ledger.append(
      events.map((event, index) => ({ ...event, at: new Date(BEGUN_MS + index).toISOString() })),
    );
  } finally {
    await ledger.close();
  }
  return runId;
}
