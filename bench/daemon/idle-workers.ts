// What workers that do nothing cost: the host that watches them, as CPU time of its whole process beside one without a run,
// and each worker itself: heartbeats, watches, timers. Once of commands in empty workspaces, and once of agents that wait for
// their model, with all that those have: worktree, network, gate. `CAISSON_BENCH_IDLE=64x600 npm run bench -- daemon`, 64
// workers for ten minutes each, is the nightly size.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { createCaisson, type Caisson, type DispatchRequest } from 'caisson';

import type { BenchRow } from '../bench-row.ts';
import { createScratch, type Scratch } from '../dispatch/scratch.ts';
import { readCpuMs } from '../read-cpu.ts';
import { prepareAgents, startSilentModel } from './waiting-agents.ts';

const [WORKERS, WATCHED_SECONDS] = parseSize(process.env['CAISSON_BENCH_IDLE'] ?? '16x45'); // several heartbeats of each
const WATCHED_MS = WATCHED_SECONDS * 1000;
const SETTLE_MS = 3000;
/** A worker collects what its start left behind once it has nothing to do. */
const WORKERS_SETTLE_MS = 20_000;
const MOST_WORKER_MS_PER_SECOND = 1;
const MOST_PERCENT = 0.1;
/** Nothing but the end of the watch ends them. */
const timeoutMs = 2 * WATCHED_MS + 600_000;
const COMMAND: DispatchRequest = {
  runtime: 'command',
  argv: ['sleep', 'infinity'],
  workspace: 'empty',
  timeoutMs,
};
const AGENT: DispatchRequest = { runtime: 'waiting', task: 'wait', timeoutMs };

type Run = Awaited<ReturnType<Caisson['dispatch']>>;

export async function measureIdleWorkers(): Promise<BenchRow[]> {
  const commands = createScratch('idle-workers');
  const agents = createScratch('idle-agents');
  const model = await startSilentModel();
  const home = process.env['HOME'];
  process.env['HOME'] = agents.root; // what its user trusts is there
  try {
    prepareAgents(agents, model.url);
    return [
      ...(await measureIdle('command', commands, COMMAND, () => Promise.resolve())),
      ...(await measureIdle('agent', agents, AGENT, () => model.hasAsked(WORKERS))),
    ];
  } finally {
    process.env['HOME'] = home;
    model.stop();
    for (const scratch of [commands, agents]) scratch.remove();
  }
}

async function measureIdle(
  what: string,
  scratch: Scratch,
  request: DispatchRequest,
  areWaiting: () => Promise<unknown>,
): Promise<BenchRow[]> {
  const caisson = await createCaisson({
    cwd: scratch.project,
    flags: { 'limits.concurrency': WORKERS },
  });
  try {
    const alone = await watchCpu();
    const runs = await Promise.all(Array.from({ length: WORKERS }, () => caisson.dispatch(request)));
    const watched = watchIdle(runs, areWaiting);
    const { beside, before, after } = await Promise.race([watched, ...runs.map(refuseEnding)]);
    for (const run of runs) run.cancel({ force: true });
    await Promise.all(runs.map((run) => run.ended));
    return [idleRow(what, (beside - alone) / WORKERS), workerRow(what, before, after)];
  } finally {
    await caisson.close();
  }
}

async function watchIdle(runs: readonly Run[], areWaiting: () => Promise<unknown>) {
  await Promise.all(runs.map(hasStarted));
  await areWaiting();
  await setTimeout(WORKERS_SETTLE_MS);
  const before = readChildrenCpuMs();
  return { before, beside: await watchCpu(), after: readChildrenCpuMs() };
}

/** A worker that ends while it is watched, or before, makes the figures worthless. */
async function refuseEnding(run: Run): Promise<never> {
  const { status, failure } = await run.ended;
  throw new Error(`a worker ended before the watch was over: ${status}, ${failure?.detail ?? 'no reason'}`);
}

/** Percent of one core that this process uses; what was under way before has ended by then. */
async function watchCpu(): Promise<number> {
  await setTimeout(SETTLE_MS);
  const [before, startedAt] = [process.cpuUsage(), performance.now()];
  await setTimeout(WATCHED_MS);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) / 1000 / (performance.now() - startedAt)) * 100;
}

/** CPU time of each process that this one has started, by its pid. */
function readChildrenCpuMs(): Map<string, number> {
  const pids = readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  );
  return new Map(pids.map((pid) => [pid, readCpuMs(pid)]));
}

async function hasStarted(run: Run): Promise<void> {
  for await (const event of run.events()) if (event.type === 'dispatch.started') return;
}

function parseSize(text: string): [workers: number, seconds: number] {
  const [, workers, seconds] = /^(\d+)x(\d+)$/.exec(text) ?? [];
  if (workers === undefined)
    throw new Error(`CAISSON_BENCH_IDLE is "${text}"; write workers x seconds, as in 64x600.`);
  return [Number(workers), Number(seconds)];
}

/** The one that costs most; a process that is not there to the end was a spare one. */
function workerRow(
  what: string,
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): BenchRow {
  const spent = [...after].flatMap(([pid, ms]) => {
    const earlier = before.get(pid);
    return earlier === undefined ? [] : [(ms - earlier) / ((SETTLE_MS + WATCHED_MS) / 1000)];
  });
  const most = Math.max(...spent);
  const isWhole = spent.length >= WORKERS; // a number of fewer says nothing
  return {
    name: `daemon: CPU of an idle ${what}'s worker, the busiest (${WORKERS} workers, ${WATCHED_MS / 1000} s)`,
    value: most,
    unit: 'ms each second',
    peer: 'the bound',
    peerValue: MOST_WORKER_MS_PER_SECOND,
    ratio: most / MOST_WORKER_MS_PER_SECOND,
    target: `< ${MOST_WORKER_MS_PER_SECOND} ms`,
    met: isWhole && most < MOST_WORKER_MS_PER_SECOND,
  };
}

function idleRow(what: string, percent: number): BenchRow {
  return {
    name: `daemon: host CPU per idle ${what}'s worker (${WORKERS} workers, ${WATCHED_MS / 1000} s)`,
    value: percent,
    unit: '% of a core',
    peer: 'the bound',
    peerValue: MOST_PERCENT,
    ratio: percent / MOST_PERCENT,
    target: `< ${MOST_PERCENT} %`,
    met: percent < MOST_PERCENT,
  };
}
