// One host that dispatches again and again: how soon a run has started, how long the event loop is held, and what a
// running worker costs the host in memory.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createCaisson, type Caisson } from 'caisson';

import type { BenchRow } from '../bench-row.ts';
import { createScratch, median, timeProgram, type Scratch } from './scratch.ts';

const ROUNDS = 31;
const WARM_UP = 3;
const WORKERS = 8;
const NO_OP = { runtime: 'command', argv: ['true'], workspace: 'empty' } as const;

export async function measureInHost(): Promise<BenchRow[]> {
  const scratch = createScratch('in-host');
  const caisson = await createCaisson({
    cwd: scratch.project,
    flags: { 'limits.concurrency': WORKERS },
  });
  try {
    return [...(await measureStart(caisson, scratch)), await measureMemory(caisson)];
  } finally {
    await caisson.close();
    scratch.remove();
  }
}

async function measureStart(caisson: Caisson, scratch: Scratch): Promise<BenchRow[]> {
  const started: number[] = [];
  const bare: number[] = [];
  const busy: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const bareMs = await timeProgram(process.execPath, ['-e', '0'], scratch);
    const before = performance.eventLoopUtilization();
    if (round >= 0) delay.enable();
    const startedMs = await timeToStarted(caisson);
    delay.disable();
    if (round < 0) continue;
    bare.push(bareMs);
    started.push(startedMs);
    busy.push(performance.eventLoopUtilization(before).active);
  }
  const [ours, node] = [median(started), median(bare)];
  return [
    {
      name: 'dispatch: from the call to dispatch.started, inside one host',
      value: ours,
      unit: 'ms p50',
      peer: 'starting a bare node',
      peerValue: node,
      ratio: ours / node,
      target: '<= 1.5x',
      met: ours <= 1.5 * node,
    },
    printed('event loop busy per dispatch', median(busy), 'ms p50'),
    printed('event loop held at once during a dispatch, p99', delay.percentile(99) / 1e6, 'ms'),
  ];
}

async function timeToStarted(caisson: Caisson): Promise<number> {
  const startedAt = performance.now();
  const run = await caisson.dispatch(NO_OP);
  let ms = Number.NaN;
  for await (const event of run.events())
    if (event.type === 'dispatch.started') ms = performance.now() - startedAt;
  await run.ended;
  return ms;
}

async function measureMemory(caisson: Caisson): Promise<BenchRow> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = (): number => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  await holdWorkers(caisson, used); // what is built once, at the first of many, is not a worker's
  const before = used();
  const perWorker = ((await holdWorkers(caisson, used)) - before) / WORKERS / 1024 ** 2;
  return {
    name: `memory of the host per running worker (${WORKERS} workers)`,
    value: perWorker,
    unit: 'MiB',
    peer: 'the bound',
    peerValue: 1,
    ratio: perWorker,
    target: '< 1 MiB',
    met: perWorker < 1,
  };
}

/** What is used while all workers run at once. */
async function holdWorkers(caisson: Caisson, used: () => number): Promise<number> {
  const runs = await Promise.all(
    Array.from({ length: WORKERS }, () => caisson.dispatch({ ...NO_OP, argv: ['sleep', '600'] })),
  );
  await Promise.all(runs.map(hasStarted));
  const bytes = used();
  for (const run of runs) run.cancel({ force: true });
  await Promise.all(runs.map((run) => run.ended));
  return bytes;
}

async function hasStarted(run: Awaited<ReturnType<Caisson['dispatch']>>): Promise<boolean> {
  for await (const event of run.events()) if (event.type === 'dispatch.started') return true;
  return false;
}

function printed(what: string, value: number, unit: string): BenchRow {
  return {
    name: `dispatch: ${what}`,
    value,
    unit,
    peer: 'nothing to compare with: printed',
    peerValue: value,
    ratio: 1,
    target: 'printed',
    met: true,
  };
}
