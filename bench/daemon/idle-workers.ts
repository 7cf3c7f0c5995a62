// What workers that do nothing cost: the host that watches them, as CPU time of its whole process beside one without a run,
// and each worker itself: heartbeats, watches, timers. `CAISSON_BENCH_IDLE=64x600 npm run bench -- daemon`, 64 workers for
// ten minutes, is the nightly size.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { createCaisson, type Caisson } from 'caisson';

import type { BenchRow } from '../bench-row.ts';
import { createScratch } from '../dispatch/scratch.ts';
import { readCpuMs } from '../read-cpu.ts';

const [WORKERS, WATCHED_SECONDS] = parseSize(process.env['CAISSON_BENCH_IDLE'] ?? '16x45'); // several heartbeats of each
const WATCHED_MS = WATCHED_SECONDS * 1000;
const SETTLE_MS = 3000;
/** A worker collects what its start left behind once it has nothing to do. */
const WORKERS_SETTLE_MS = 20_000;
const MOST_WORKER_MS_PER_SECOND = 1;
const MOST_PERCENT = 0.1;
/** Nothing but the end of the watch ends them. */
const IDLE = {
  runtime: 'command',
  argv: ['sleep', 'infinity'],
  workspace: 'empty',
  timeoutMs: 2 * WATCHED_MS + 600_000,
} as const;

export async function measureIdleWorkers(): Promise<BenchRow[]> {
  const scratch = createScratch('idle-workers');
  const caisson = await createCaisson({
    cwd: scratch.project,
    flags: { 'limits.concurrency': WORKERS },
  });
  try {
    const alone = await watchCpu();
    const runs = await Promise.all(Array.from({ length: WORKERS }, () => caisson.dispatch(IDLE)));
    let endedEarly = 0;
    for (const run of runs) void run.ended.finally(() => (endedEarly += 1));
    await Promise.all(runs.map(hasStarted));
    await setTimeout(WORKERS_SETTLE_MS);
    const before = readChildrenCpuMs();
    const [beside, after] = [await watchCpu(), readChildrenCpuMs()];
    if (endedEarly > 0) throw new Error(`${endedEarly} of ${WORKERS} workers ended while they were watched`);
    for (const run of runs) run.cancel({ force: true });
    await Promise.all(runs.map((run) => run.ended));
    return [idleRow((beside - alone) / WORKERS), workerRow(before, after)];
  } finally {
    await caisson.close();
    scratch.remove();
  }
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

async function hasStarted(run: Awaited<ReturnType<Caisson['dispatch']>>): Promise<void> {
  for await (const event of run.events()) if (event.type === 'dispatch.started') return;
}

function parseSize(text: string): [workers: number, seconds: number] {
  const [, workers, seconds] = /^(\d+)x(\d+)$/.exec(text) ?? [];
  if (workers === undefined)
    throw new Error(`CAISSON_BENCH_IDLE is "${text}"; write workers x seconds, as in 64x600.`);
  return [Number(workers), Number(seconds)];
}

/** The one that costs most; a process that is not there to the end was a spare one. */
function workerRow(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): BenchRow {
  const spent = [...after].flatMap(([pid, ms]) => {
    const earlier = before.get(pid);
    return earlier === undefined ? [] : [(ms - earlier) / ((SETTLE_MS + WATCHED_MS) / 1000)];
  });
  const most = Math.max(...spent);
  const isWhole = spent.length >= WORKERS; // a number of fewer says nothing
  return {
    name: `daemon: CPU of an idle worker, the busiest (${WORKERS} workers, ${WATCHED_MS / 1000} s)`,
    value: most,
    unit: 'ms each second',
    peer: 'the bound',
    peerValue: MOST_WORKER_MS_PER_SECOND,
    ratio: most / MOST_WORKER_MS_PER_SECOND,
    target: `< ${MOST_WORKER_MS_PER_SECOND} ms`,
    met: isWhole && most < MOST_WORKER_MS_PER_SECOND,
  };
}

function idleRow(percent: number): BenchRow {
  return {
    name: `daemon: host CPU per idle worker (${WORKERS} workers, ${WATCHED_MS / 1000} s)`,
    value: percent,
    unit: '% of a core',
    peer: 'the bound',
    peerValue: MOST_PERCENT,
    ratio: percent / MOST_PERCENT,
    target: `< ${MOST_PERCENT} %`,
    met: percent < MOST_PERCENT,
  };
}
