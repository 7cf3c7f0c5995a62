// Sixteen runs, eight at a time: ours from one host, as a program or the daemon would do it; codex from as many processes.
import { createCaisson, type Caisson } from 'caisson';

import type { BenchRow, RowHead } from '../bench-row.ts';
import { TASKS, type AgentScene } from './scene.ts';

const ROUNDS = 3;
const RUNS = 16;
const AT_ONCE = 8;

export const THROUGHPUT_ROWS: readonly RowHead[] = TASKS.map(headOf);

export async function measureThroughput(scene: AgentScene): Promise<BenchRow[]> {
  const own = process.env;
  process.env = { ...scene.scratch.env }; // the project is that user's, and the library is called in this process
  try {
    const rows: BenchRow[] = [];
    for (const each of TASKS) rows.push(await measureTask(scene, each));
    return rows;
  } finally {
    process.env = own;
  }
}

async function measureTask(scene: AgentScene, each: (typeof TASKS)[number]): Promise<BenchRow> {
  const { task, atLeast } = each;
  const caisson = await createCaisson({
    cwd: scene.scratch.project,
    flags: { 'limits.concurrency': AT_ONCE },
  });
  const ms = { ours: 0, bare: 0 };
  try {
    for (let round = 0; round <= ROUNDS; round += 1) {
      const ours = await timed(() => runOurs(caisson, task));
      const bare = await timed(() => runBare(scene, task));
      if (round === 0) continue; // compiled and cached by now, on both sides
      ms.ours += ours;
      ms.bare += bare;
    }
  } finally {
    await caisson.close();
  }
  const perMinute = (total: number): number => (ROUNDS * RUNS * 60_000) / total;
  const ratio = ms.bare / ms.ours;
  return {
    ...headOf(each),
    value: perMinute(ms.ours),
    peerValue: perMinute(ms.bare),
    ratio,
    met: ratio >= atLeast,
  };
}

function headOf({ model, atLeast }: (typeof TASKS)[number]): RowHead {
  return {
    name: `agents: ${RUNS} edits by codex with ${model}, ${AT_ONCE} at a time`,
    unit: 'runs/min',
    peer: 'codex exec alone',
    target: `>= ${atLeast}x`,
  };
}

async function runOurs(caisson: Caisson, task: string): Promise<void> {
  const runs = await Promise.all(
    Array.from({ length: RUNS }, () => caisson.dispatch({ runtime: 'codex', task })),
  );
  for (const { ended } of runs) {
    const { status, failure } = await ended;
    if (status !== 'done') throw new Error(`a run ended ${status}: ${failure?.detail ?? ''}`);
  }
}

async function runBare(scene: AgentScene, task: string): Promise<void> {
  let left = RUNS;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await scene.runBare(task);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
