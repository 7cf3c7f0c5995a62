/** What is read of a large ledger costs what it costs in a small one; `npm run bench -- read-model` has the figures. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import { watchTurns } from '../../bench/daemon/loop-turns.ts';
import { fillLedger } from '../../bench/read-model/fill-ledger.ts';
import { openLedger, type Ledger } from '../../packages/engine/src/ledger/index.ts';
import { resolveRunId } from '../../packages/engine/src/operations/resolve-run-id.ts';
import { openLocalStore } from '../../packages/engine/src/store/index.ts';
import { openTerminal } from '../e2e/on-terminal.ts';
import { BIN, createProject, type Project } from '../e2e/project.ts';
import { serve } from './killed-daemons.ts';

const SMALL = 1000;
const LARGE = 20_000;
/** What no part of a read may hold the event loop for. */
const LONG_TURN_MS = 5;
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

  const rare = { ...PAGE, text: 'no such bean' };
  const begun = performance.now();
  expect(large.ledger.runs(rare)).toEqual([]);
  const atOnceMs = performance.now() - begun;
  const longestMs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const watch = watchTurns();
    expect(await large.ledger.searchRuns(rare)).toEqual([]);
    longestMs.push(Math.max(...watch.stop().map(({ cpuMs }) => cpuMs)));
  }
  // In turns: none is long, or nearly as long as the whole.
  expect(Math.min(...longestMs)).toBeLessThan(Math.max(LONG_TURN_MS, atOnceMs / 4));
}, 120_000);

/** For what goes through all of them. */
const MANY = 12_000;
/** All of their events take more: a command that loads them is ended by V8. */
const HEAP = '--max-old-space-size=64';
/** What is outside of that heap counts as well. */
const MOST_MB = 250;
const REPORT_MEMORY =
  "process.on('exit', () => require('node:fs').writeFileSync(`${__dirname}/kb`, `${process.resourceUsage().maxRSS}`));";

/** A checkpoint for each run, as `git pack-refs` writes them. */
function nameInRefs(project: Project, ids: readonly string[]): void {
  project.git('pack-refs', '--all');
  const tree = project.git('rev-parse', 'HEAD^{tree}').trim();
  const file = join(project.root, '.git/packed-refs');
  const [head = '', ...refs] = readFileSync(file, 'utf8').trimEnd().split('\n');
  const added = ids.map((id) => `${tree} refs/caisson/${id}/1`);
  const all = [...refs.filter((line) => !line.startsWith('^')), ...added];
  const sorted = all.toSorted((a, b) => (a.slice(41) < b.slice(41) ? -1 : 1));
  writeFileSync(file, `${[head, ...sorted].join('\n')}\n`);
}

it('show, doctor and gc look at 12,000 runs with a heap that has no room for them', async () => {
  const project = createProject();
  await project.run('--', 'true');
  const state = join(project.root, '.caisson');
  const { digest } = await openLocalStore(join(state, 'store')).putBlob(Buffer.from('seal'));
  const ids = await fillLedger(join(state, 'ledger.db'), MANY, digest);
  nameInRefs(project, ids);
  const report = join(project.root, '../report-memory.cjs');
  writeFileSync(report, REPORT_MEMORY);
  const options = { cwd: project.root, env: project.env };
  // The doctor also says what else this machine lacks, and ends with 1 then.
  const caisson = async (...args: string[]): Promise<string> => {
    const argv = [HEAP, '--require', report, BIN, ...args, '-o', 'json'];
    const { stdout } = await promisify(execFile)(process.execPath, argv, options).catch(
      (failed: { stdout: string }) => failed,
    );
    const mb = Number(readFileSync(join(report, '../kb'), 'utf8')) / 1000;
    expect(mb, args.join(' ')).toBeLessThan(MOST_MB);
    return stdout;
  };
  const shown = ids[MANY / 2] ?? '';
  expect(JSON.parse(await caisson('show', shown.slice(0, -4)))).toMatchObject({ runId: shown });
  expect(JSON.parse(await caisson('gc', '--older-than', '0s'))).toMatchObject({ problems: [], heldBack: [] });
  const { probes } = JSON.parse(await caisson('doctor')) as { probes: { id: string; detail: string }[] };
  const details = new Map(probes.map(({ id, detail }) => [id, detail]));
  expect(details.get('ledger')).toContain(`of ${MANY + 1} runs, every hash is correct`);
  expect(details.get('seals')).toContain(`${MANY + 1} seals`);
  expect(details.get('store')).toContain('has its digest');
  expect(details.get('checkpoints')).toMatch(/^12\d{3} refs under refs\/caisson, each of a run$/);

  await serve(project);
  const ask = async (path: string): Promise<string> => {
    const socketPath = join(state, 'runtime/daemon.sock');
    const [response] = (await once(get({ socketPath, path, agent: false }), 'response')) as [IncomingMessage];
    return await text(response);
  };
  const begun = performance.now();
  const examined = { answer: '' };
  const examining = ask('/v1/doctor').then((answer) => (examined.answer = answer));
  let longestMs = 0;
  while (examined.answer === '') {
    const askedMs = performance.now();
    await ask('/v1/status');
    longestMs = Math.max(longestMs, performance.now() - askedMs);
  }
  await examining;
  expect(examined.answer).toContain(`of ${MANY + 1} runs, every hash is correct`);
  expect(longestMs).toBeLessThan((performance.now() - begun) / 4);

  // The daemon looks, and the terminal of its caller shows how far it is.
  const collecting = openTerminal(project, ['gc']);
  expect(await collecting.ended).toBe(0);
  expect(collecting.screen()).toMatch(/looking for what is needed: \d+ of \d+ events/);
  expect(collecting.screen()).toContain('freed');
  const verifying = openTerminal(project, ['verify', '--all']);
  await vi.waitFor(() => expect(verifying.screen()).toMatch(/verified \d+ of 12001 runs/), 60_000);
  verifying.close();
}, 240_000);
