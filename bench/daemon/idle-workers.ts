// What workers that do nothing cost the host that watches them: heartbeats, watches and timers, as CPU time of its whole
// process. A host without a run is measured beside it.
import { setTimeout } from 'node:timers/promises';
import { createCaisson, type Caisson } from 'caisson';

import type { BenchRow } from '../bench-row.ts';
import { createScratch } from '../dispatch/scratch.ts';

const WORKERS = 16;
/** Several heartbeats of each. */
const WATCHED_MS = 45_000;
const SETTLE_MS = 3000;
const MOST_PERCENT = 0.1;
const IDLE = { runtime: 'command', argv: ['sleep', '600'], workspace: 'empty' } as const;

export async function measureIdleWorkers(): Promise<BenchRow[]> {
  const scratch = createScratch('idle-workers');
  const caisson = await createCaisson({
    cwd: scratch.project,
    flags: { 'limits.concurrency': WORKERS },
  });
  try {
    const alone = await watchCpu();
    const runs = await Promise.all(Array.from({ length: WORKERS }, () => caisson.dispatch(IDLE)));
    await Promise.all(runs.map(hasStarted));
    const beside = await watchCpu();
    for (const run of runs) run.cancel({ force: true });
    await Promise.all(runs.map((run) => run.ended));
    return [idleRow((beside - alone) / WORKERS)];
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

async function hasStarted(run: Awaited<ReturnType<Caisson['dispatch']>>): Promise<void> {
  for await (const event of run.events()) if (event.type === 'dispatch.started') return;
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
