/**
 * SIGKILL of the daemon and of workers at random while threads work, sleep, and wait for a run or an answer, and while the signals
 * of a sense start others.
 * `CAISSON_KILLED_THREADS=200` is the nightly size, `CAISSON_KILL_SEED` chooses other moments (docs/guides/nightly.md).
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as passTime } from 'node:timers/promises';
import { descendants } from '@caisson/ground';
import type { ResidentView } from '@caisson/protocol';
import { expect, it } from 'vitest';
import type { Ledger } from '../../packages/engine/src/ledger/index.ts';
import { until, type Project } from '../e2e/project.ts';
import {
  readJson,
  senseOf,
  serveResidents,
  workflowOf,
  type ResidentProject,
} from '../e2e/resident-project.ts';
import { choose, chooseNumber, randomOf } from './harness/choose.ts';
import type { Random } from './harness/contract.ts';
import { findLeftProcesses } from './harness/left-processes.ts';
import { killDaemon, serve } from './killed-daemons.ts';

const THREADS = Number(process.env['CAISSON_KILLED_THREADS'] ?? 12);
const SEED = Number(process.env['CAISSON_KILL_SEED'] ?? 1);
const KILLS = Math.max(6, Math.ceil(THREADS / 5));
/** Of the flow; more than have a turn at once, so that most of those that wait are parked. */
const AT_ONCE = 64;
/** Threads that signals start; a sense may emit 60 in a minute. */
const SIGNALS = Math.min(50, Math.ceil(THREADS / 4));
/** Longest time between two kills. */
const PAUSE_MS = 1200;

const FLOW = workflowOf({
  begin: `return await step('begin', () => payload.index);`,
  work: `
    if (payload.sort === 'sleep') await sleep(payload.ms);
    if (payload.sort === 'ask') return await ask('go on?');
    if (payload.sort === 'run')
      return (await dispatch({ task: 'x', runtime: 'command', argv: ['sleep', String(payload.ms / 1000)] })).status;
    return 'worked';`,
  end: `return await step('end', () => messages.length);`,
});

/** A number is emitted in the compute that counts it, so each is emitted once. */
const COUNTS = senseOf(`
  const n = state.get('n') ?? 0;
  if (n >= ${SIGNALS}) return;
  state.set('n', n + 1);
  emit('counted', n);`);
const LISTENS = workflowOf({ hear: `return await step('hear', () => payload);` });

it(
  `${THREADS} threads end once each, with each step once, whatever is killed`,
  { timeout: 90_000 + THREADS * 3000 },
  async () => {
    const residents = await serveResidents(
      [
        'senses: { counts: { file: counts.ts, interval: 500ms } }',
        'workflows:',
        `  flow: { file: flow.ts, concurrency: ${AT_ONCE}, maxQueue: ${THREADS} }`,
        `  listens: { file: listens.ts, on: [counted], concurrency: 4, maxQueue: ${SIGNALS} }`,
      ],
      { 'flow.ts': FLOW, 'counts.ts': COUNTS, 'listens.ts': LISTENS },
    );
    const random = randomOf(SEED, 'residents-kills', THREADS);
    const payloads = Array.from({ length: THREADS }, (_, index) => planThread(random, index));
    const isOver = (): boolean =>
      residents.ledger.threads({}).filter(({ endedAt }) => endedAt).length === THREADS + SIGNALS;
    await Promise.all([
      startAll(residents.project, payloads),
      killMany(residents, random),
      answerAll(residents, isOver),
    ]);
    expectOnce(residents.ledger, payloads);
    expectListenedOnce(residents.ledger);
    await expectNothingLeft(residents);
  },
);

interface Planned {
  readonly index: number;
  readonly sort: 'sleep' | 'ask' | 'run' | 'plain';
  readonly ms: number;
}

function planThread(random: Random, index: number): Planned {
  const sorts = ['sleep', 'ask', 'run', 'plain'] as const;
  return { index, sort: sorts[index % sorts.length] ?? 'plain', ms: chooseNumber(random, 500, 6000) };
}

/** Asks again where the daemon was killed meanwhile: the key makes it one thread. */
async function startAll(project: Project, payloads: readonly Planned[]): Promise<void> {
  for (const payload of payloads) {
    const words = ['--payload', JSON.stringify(payload), '--idempotency-key', `thread ${payload.index}`];
    const isStarted = async (): Promise<boolean> =>
      (await project.caisson('workflows', 'trigger', 'flow', ...words)).code === 0;
    await until(`thread ${payload.index} is started`, isStarted, 60_000);
  }
}

async function killMany({ project, daemonPid }: ResidentProject, random: Random): Promise<void> {
  let daemon = daemonPid;
  for (let kill = 0; kill < KILLS; kill++) {
    await passTime(chooseNumber(random, 0, PAUSE_MS)); // the moment is what is chosen
    if (choose(random, ['daemon', 'worker', 'worker']) === 'worker') {
      await killWorker(project, random);
      continue;
    }
    await killDaemon(daemon);
    daemon = await serve(project);
  }
}

/** A worker of the sense or of a workflow, or what it has started: bubblewrap, or the guest inside. */
async function killWorker(project: Project, random: Random): Promise<void> {
  const residents = await resetBlocked(project);
  const [first, ...others] = residents.flatMap(({ pid }) => pid ?? []);
  if (first === undefined) return;
  const pid = choose(random, [first, ...others]);
  try {
    process.kill(choose(random, [pid, ...descendants(pid).map((child) => child.pid)]), 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}

async function resetBlocked(project: Project): Promise<readonly ResidentView[]> {
  const residents = await readJson<ResidentView[]>(project, 'residents', 'list');
  for (const { key, state } of residents)
    if (state === 'blocked') await project.caisson('residents', 'reset', key);
  return residents;
}

/** A person answers every question, and lets what is blocked work again. */
async function answerAll({ project, ledger }: ResidentProject, isOver: () => boolean): Promise<void> {
  const look = async (): Promise<boolean> => {
    const steps = ledger.threads({ status: 'waiting' }).flatMap(({ waitsFor = [] }) => waitsFor);
    const questions = steps.flatMap(({ questionId }) => questionId ?? []);
    for (const questionId of questions) await project.caisson('answer', questionId, 'yes');
    const blocks = ledger.read({ types: ['resident.blocked'] }).length;
    const resets = ledger.read({ types: ['resident.reset'] }).length;
    if (blocks > resets) await resetBlocked(project).catch(() => undefined); // its daemon was killed
    return isOver();
  };
  await until('every thread has ended', look, 60_000 + THREADS * 2000);
}

function expectOnce(ledger: Ledger, payloads: readonly Planned[]): void {
  const threads = ledger.threads({ workflow: 'flow' });
  const found = threads.map(({ threadId, status, detail }) => {
    const read = (type: 'thread.ended' | 'thread.message' | 'thread.step-started' | 'thread.step-ended') =>
      ledger.read({ runId: threadId, types: [type] });
    const [accepted] = ledger.read({ runId: threadId, types: ['thread.accepted'] });
    const { index, sort } = (accepted?.data.payload ?? {}) as Partial<Planned>;
    const runs = ledger.runs().filter(({ session }) => session === threadId);
    const counts = [
      read('thread.ended'),
      read('thread.message'),
      read('thread.step-started'),
      read('thread.step-ended'),
    ];
    return {
      index,
      sort,
      status,
      detail,
      counts: counts.map(({ length }) => length),
      // A run whose daemon was killed before its worker began is not adopted: the role gets that as its outcome.
      runs: runs.map((run) => (run.status === 'interrupted' ? 'done' : run.status)),
    };
  });
  const wanted = payloads.map(({ index, sort }) => {
    const steps = sort === 'plain' ? 2 : 3;
    return {
      index,
      sort,
      status: 'done',
      detail: undefined,
      counts: [1, 3, steps, steps],
      runs: sort === 'run' ? ['done'] : [],
    };
  });
  expect(found.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))).toEqual(wanted);
}

/** One thread for each signal, whatever was killed between the compute and the thread. */
function expectListenedOnce(ledger: Ledger): void {
  const threads = ledger.threads({ workflow: 'listens' });
  const found = threads.map(({ threadId, status }) => {
    const [accepted] = ledger.read({ runId: threadId, types: ['thread.accepted'] });
    const ends = ledger.read({ runId: threadId, types: ['thread.ended'] }).length;
    return { payload: Number(accepted?.data.payload), status, ends };
  });
  const wanted = Array.from({ length: SIGNALS }, (_, payload) => ({ payload, status: 'done', ends: 1 }));
  expect(found.toSorted((one, other) => one.payload - other.payload)).toEqual(wanted);
}

async function expectNothingLeft({ project, ledger }: ResidentProject): Promise<void> {
  expect((await project.caisson('down', '--now')).code).toBe(0);
  const list = (): string[] =>
    findLeftProcesses({ marks: new Set([project.root]) }).map(({ command }) => command);
  await until('no process is left', () => list().length === 0, 10_000);
  const folder = join(project.root, '.caisson/runtime/residents');
  expect([ledger.kv.list('residents'), existsSync(folder) ? readdirSync(folder) : []]).toEqual([[], []]);
}
