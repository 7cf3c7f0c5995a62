/** The same project, seen through the CLI, `top`, the HTTP API and the dashboard: the same numbers. */
import { startModelServer } from '@caisson/testkit';
import type { BudgetStanding, ListedRun, SpendRow } from '@caisson/engine';
import type { DaemonStatus, DispatchResult } from '@caisson/protocol';
import { chromium, type Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { openHttp, type HttpFace } from '../e2e/open-http.ts';
import { createProject, until, type Project } from '../e2e/project.ts';
import { findChromium } from './find-chromium.ts';

const USED = { inputTokens: 1100, outputTokens: 25, cacheReadTokens: 0, cacheWriteTokens: 0 };
const SIGNALS = [
  ...[{ kind: 'turn' }, { kind: 'cost', usd: 0.25 }, { kind: 'usage', how: 'total', usage: USED }],
].map((signal) => JSON.stringify(signal));
const ADAPTER = `export default {
  name: 'mine',
  command: () => ({ argv: ['/bin/sh', '-c', ${JSON.stringify(`printf '%s\\n' '${SIGNALS.join("' '")}'`)}], env: {}, files: [], stdin: null }),
  createStream: () => ({ line: (text) => [JSON.parse(text)], end: () => ({ kind: 'answered', reply: 'It is done.' }) }),
};\n`;
const ASKS = `printf '{"question":"red or blue?"}' > .caisson/needs_input.json`;

interface Ids {
  readonly done: string;
  readonly failed: string;
  readonly asks: string;
  readonly held: string;
  readonly queued: string;
}

async function createScene(): Promise<{ project: Project; ids: Ids }> {
  const command = 'rm -rf old';
  const server = await startModelServer({ script: [{ tool: { intent: 'run-command', command } }] });
  onTestFinished(() => server.stop());
  const project = createProject({
    env: { MODEL_KEY: 'scripted-key', CAISSON_HEARTBEAT_MS: '300' },
    config: [
      'runtimes:',
      '  mine: { adapter: ./adapter.mjs, bin: /bin/sh }',
      `  native: { endpoint: "${server.url}", apiKey: env:MODEL_KEY, model: scripted-model }`,
      'limits: { concurrency: 1 }',
      'budget: { perDayUsd: 5, allowUnknownCost: true }\n',
    ].join('\n'),
  });
  project.write('adapter.mjs', ADAPTER);
  await project.trust();
  await project.caisson('up', '-d');
  const run = async (...args: string[]): Promise<string> => (await project.run(...args)).runId;
  const detach = async (...args: string[]): Promise<string> => {
    const { stdout, stderr } = await project.caisson('run', '--detach', ...args);
    expect(stderr).toBe('');
    return stdout.trim();
  };
  const done = await run('--runtime', 'mine', '--session', 'release', 'make it');
  const failed = await run('--', 'sh', '-c', 'exit 3');
  const asks = await run('--', 'sh', '-c', ASKS);
  const held = await detach('--runtime', 'native', '--mode', 'full-auto', 'clean up');
  await until('the call waits', async () =>
    (await listed(project)).some(({ waitsFor }) => waitsFor?.kind === 'approval'),
  );
  const queued = await detach('--', 'true');
  await until('the place in the queue', async () =>
    (await listed(project)).some(({ position }) => position === 1),
  );
  return { project, ids: { done, failed, asks, held, queued } };
}

async function json<T>(project: Project, ...args: string[]): Promise<T> {
  return JSON.parse((await project.caisson(...args, '-o', 'json')).stdout) as T;
}

const listed = (project: Project): Promise<ListedRun[]> => json(project, 'runs');

/** Signed in, for a program and in a browser. */
async function openFace(project: Project): Promise<Pick<HttpFace, 'url' | 'get'> & { readonly page: Page }> {
  const { url, link, get } = await openHttp(project, 'read');
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
  onTestFinished(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  await page.goto(link);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return { page, url, get };
}

/** Beats change these between two readings. */
function withoutBeats(runs: readonly ListedRun[]): unknown[] {
  return runs
    .map(({ live, ...run }) => {
      const { cpuPercent: _cpu, memoryBytes: _memory, ...rest } = live ?? { cpuPercent: 0, memoryBytes: 0 };
      return live === undefined ? run : { ...run, live: rest };
    })
    .toSorted((a, b) => a.acceptedOffset - b.acceptedOffset);
}

/** What a person reads in a page once it shows this. */
async function read(page: Page, address: string, shows: string | RegExp): Promise<string> {
  await page.goto(address);
  await page.getByText(shows).first().waitFor({ timeout: 20_000 });
  return await page.locator('main').innerText();
}

function sum<T>(rows: readonly T[], valueOf: (row: T) => number): number {
  return rows.reduce((total, row) => total + valueOf(row), 0);
}

const dollars = (usd: number | undefined): string => (usd === undefined ? 'unknown' : `$${usd.toFixed(2)}`);

it('CLI, top, API and dashboard show the same of the same runs', { timeout: 180_000 }, async () => {
  const { project, ids } = await createScene();
  const { page, url, get } = await openFace(project);

  const runs = await listed(project);
  const statuses = new Map(runs.map(({ runId, status }) => [runId, status]));
  expect(Object.values(ids).map((id) => statuses.get(id))).toEqual([
    ...['done', 'error', 'waiting', 'running', 'queued'],
  ]);
  const { runs: inTop } = await json<{ runs: ListedRun[] }>(project, 'top', '--once');
  expect(withoutBeats(inTop)).toEqual(withoutBeats(runs));
  expect(withoutBeats(await get<ListedRun[]>('/v1/runs'))).toEqual(withoutBeats(runs));
  for (const runId of [ids.done, ids.failed, ids.asks, ids.queued])
    expect(await get(`/v1/runs/${runId}`)).toEqual(await json(project, 'show', runId));
  expect(await get(`/v1/runs/${ids.held}`)).toMatchObject({
    status: 'running',
    waitsFor: { kind: 'approval' },
  });

  const rowsText = await read(page, `${url}runs`, 'place 1 in the queue');
  expect(rowsText).toContain('approval: ');
  for (const run of runs) {
    const row = page.locator('[role=row]', { has: page.locator(`a[href$="${run.runId}"]`) });
    const cells = await row.locator('[role=cell]').allInnerTexts();
    const cost = run.runtime === 'command' ? '' : dollars(run.costUsd ?? run.live?.costUsd);
    expect([run.runId, cells[1], cells.at(-1)]).toEqual([run.runId, run.status, cost]);
  }

  const shown = await json<DispatchResult>(project, 'show', ids.done);
  const usage = await read(page, `${url}runs/${ids.done}`, 'Usage and cost');
  expect(shown.result?.usage).toMatchObject({ inputTokens: 1100, outputTokens: 25 });
  expect(usage).toMatch(/Cost\s+\$0\.25\s+Tokens in\s+1,100\s+Tokens out\s+25\s/);

  const plain = await read(page, `${url}runs/${ids.failed}`, 'Usage and cost');
  expect(plain).toMatch(/Cost\s+none\s/);
  expect(plain).not.toContain('unknown');

  const { standings } = await json<{ standings: BudgetStanding[] }>(project, 'budget');
  expect(await get('/v1/budget')).toEqual(standings);
  const spend = await get<SpendRow[]>('/v1/spend');
  const [day] = standings;
  expect([day?.scope, day?.spentUsd, day?.unknownCosts]).toEqual([
    ...['day', sum(spend, ({ costUsd }) => costUsd ?? 0), sum(spend, ({ unknownCosts }) => unknownCosts)],
  ]);
  expect(day?.spentUsd).toBe(0.25);
  const costs = await read(page, `${url}costs`, 'Today (UTC)');
  expect(costs).toMatch(/Today \(UTC\)\s+\$0\.25/);
  expect(costs).toContain(
    `${dollars(day?.spentUsd)} spent, ${dollars(day?.reservedUsd)} reserved of ${dollars(day?.ceilingUsd ?? undefined)}`,
  );

  const status = await json<DaemonStatus>(project, 'status');
  expect(await get('/v1/status')).toMatchObject({ running: status.running, queued: status.queued });
  const count = (name: string): number => runs.filter((run) => run.status === name).length;
  expect([status.running, status.queued]).toEqual([count('running'), count('queued')]);
  const [head] = (await project.caisson('top', '--once')).stdout.split('\n');
  expect(head).toMatch(/^caisson top {2}1 running, 1 queued, 2 wait for you/);
  expect(await read(page, `${url}pool`, 'Running')).toMatch(/Running\s+1\s+Queued\s+1\s/);
  const inbox = await read(page, url, 'red or blue?');
  expect(inbox).toContain('rm -rf old');
  const waiting = runs.filter(({ waitsFor }) => waitsFor !== undefined).length;
  expect(await page.getByRole('navigation', { name: 'Pages' }).innerText()).toMatch(
    new RegExp(`Inbox\\s*${waiting}\\b`),
  );
});
