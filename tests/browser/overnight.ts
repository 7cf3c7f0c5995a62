import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createId } from '@caisson/protocol';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { fillLedger } from '../../bench/read-model/fill-ledger.ts';
import {
  accepted,
  fact,
  launched,
  started,
} from '../../packages/engine/src/ledger/fixtures/sample-events.ts';
import { openLedger } from '../../packages/engine/src/ledger/index.ts';
import { until } from '../e2e/open-project.ts';
import { SEEN_MS, type Stage } from './open-page.ts';

const LIMIT_MS = 120_000;
/** Runs whose events come while a page is open: a night of a busy project, in short. */
const BURST = 500;
const FAILURES = 120;
const ROUNDS = 3;
const MAX_GROWTH_BYTES = 6_000_000;
const ROTATIONS = 3;

/** Pages that stay open: their memory does not grow with what happens, and they stay signed in. */
export function describeOvernight(at: () => Stage): void {
  it('the runs stay small while many come', { timeout: LIMIT_MS }, async () => {
    const { page, go } = at();
    await go('runs');
    await expectStill(page, async () => {
      const ids = await fillLedger(ledgerOf(at()), BURST);
      await page.locator(`a[href$="${ids.at(-1)}"]`).waitFor({ timeout: SEEN_MS });
    });
  });

  it('the costs stay small while many come', { timeout: LIMIT_MS }, async () => {
    const { page, go } = at();
    const runs = page.getByRole('region', { name: 'By day' }).getByRole('row', { name: '2026-01-01 $' });
    const count = async () => Number((await runs.getByRole('cell').last().innerText()).replaceAll(',', ''));
    await go('costs');
    await runs.waitFor({ timeout: SEEN_MS });
    await expectStill(page, async () => {
      const before = await count();
      await fillLedger(ledgerOf(at()), BURST);
      await until('they are counted', async () => (await count()) === before + BURST, SEEN_MS);
    });
  });

  it('the inbox stays small while many fail', { timeout: LIMIT_MS }, async () => {
    const { page, go } = at();
    await go('');
    await page.locator('.inbox-card').first().waitFor({ timeout: SEEN_MS });
    await expectStill(page, async () => {
      const last = await addFailures(ledgerOf(at()));
      await page.locator(`.inbox-card a[href$="${last}"]`).first().waitFor({ timeout: SEEN_MS });
    });
  });

  describeLog(at);
  describeRotations(at);
}

function describeLog(at: () => Stage): void {
  it(
    'a log of 50 MB that is opened again and again leaves nothing behind',
    { timeout: LIMIT_MS },
    async () => {
      const { scene, page, go, runs } = at();
      await scene.untilIs(runs.flood, 'done');
      await go(`runs/${runs.flood}`);
      const open = (tab: RegExp) => page.getByRole('link', { name: tab }).click();
      await expectStill(page, async () => {
        await open(/^Log/);
        await page.getByText('the last line').waitFor({ timeout: 60_000 });
        await open(/^Overview/);
        await page.getByRole('heading', { name: 'Outcome' }).waitFor({ timeout: SEEN_MS });
      });
    },
  );
}

function describeRotations(at: () => Stage): void {
  it('a page whose token is changed many times goes on, live', { timeout: LIMIT_MS }, async () => {
    const { scene, page, go } = at();
    await go('runs?session=rotated');
    let rotations = 0;
    // The host changes the token; only the page believes that each one ends within seconds.
    const path = '**/v1/session/rotation';
    await page.route(path, async (route) => {
      const response = await route.fetch();
      const session = (await response.json()) as object;
      rotations += 1;
      await route.fulfill({ response, json: { ...session, expiresAt: inSeconds(3) } });
    });
    onTestFinished(() => page.unroute(path));
    await page.evaluate((expiresAt) => {
      const session = JSON.parse(sessionStorage.getItem('caisson.session') ?? '') as object;
      sessionStorage.setItem('caisson.session', JSON.stringify({ ...session, expiresAt }));
    }, inSeconds(5));
    await page.reload();
    for (let seen = 1; seen <= ROTATIONS; seen += 1) {
      await until('another token', () => Promise.resolve(rotations >= seen), SEEN_MS);
      await scene.project.caisson('run', '--session', 'rotated', '--', 'true');
      const rows = page.locator('.run-row', { hasText: 'rotated' });
      await until(`${seen} runs, each once`, async () => (await rows.count()) === seen, SEEN_MS);
    }
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    // The next test begins with a session that lasts.
    await page.goto(await scene.openLink());
    await page.getByRole('navigation', { name: 'Pages' }).waitFor({ timeout: SEEN_MS });
  });
}

/** Twice to reach what a page keeps anyway, and then the same again and again. */
async function expectStill(page: Page, round: () => Promise<void>): Promise<void> {
  await round();
  await round();
  const before = await measureHeap(page);
  for (let count = 0; count < ROUNDS; count += 1) await round();
  expect((await measureHeap(page)) - before).toBeLessThan(MAX_GROWTH_BYTES);
}

async function measureHeap(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  await client.detach();
  return usedSize;
}

/** Runs that fail now; resolves with the id of the last one. */
async function addFailures(file: string): Promise<string> {
  const failure = { reason: 'provider-failed', detail: 'it did not work '.repeat(200) };
  const ids = Array.from({ length: FAILURES }, (_, index) =>
    createId('run', Date.now() + index, randomBytes(10)),
  );
  const events = ids.flatMap((runId) => [
    accepted(runId),
    launched(runId, 1),
    started(runId),
    { ...fact(runId, { durationMs: 1, failure }), type: 'dispatch.failed' },
  ]);
  const ledger = openLedger(file);
  try {
    const at = new Date().toISOString();
    await ledger.append(events.map((event) => ({ ...event, at })));
  } finally {
    await ledger.close();
  }
  return ids.at(-1) ?? '';
}

function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

function ledgerOf({ scene }: Stage): string {
  return join(scene.project.root, '.caisson', 'ledger.db');
}
