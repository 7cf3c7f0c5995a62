// A warm compute, from the call to its answer. Ours crosses two processes and the wall of a sandbox, is checked by schemas
// on the way, and runs in a thread of its own; the peers' children run with all rights of the user.
import { fileURLToPath } from 'node:url';
import Tinypool from 'tinypool';
import workerpool from 'workerpool';

import { measureInTurns } from '../alternate.ts';
import type { BenchRow } from '../bench-row.ts';
import { openRuntime, type BenchSense } from './open-runtime.ts';

const ROUNDS = 9;
const IN_SERIES = 300;
const PIPELINED = 1000;
const SENSES: readonly BenchSense[] = ['answer', 'nothing'];
const ANSWER = fileURLToPath(new URL('answer.mjs', import.meta.url));

type Call = () => PromiseLike<unknown>;

export async function measureComputes(): Promise<BenchRow[]> {
  const ours = await openRuntime();
  for (const sense of SENSES) ours.runtime.declare(ours.plan(sense), { isKept: true });
  const pool = workerpool.pool(ANSWER, { workerType: 'process', minWorkers: 1, maxWorkers: 1 });
  const tiny = new Tinypool({ filename: ANSWER, runtime: 'child_process', minThreads: 1, maxThreads: 1 });
  const rows: BenchRow[] = [];
  try {
    for (const sense of SENSES) {
      const calls = {
        ours: () => ours.compute(sense),
        workerpool: () => pool.exec(sense, []),
        tinypool: () => tiny.run({}, { name: sense }),
      };
      const what = sense === 'answer' ? 'that emits a signal' : 'that emits nothing';
      rows.push(
        ...describe(`${what}, one after another`, await measureAll(calls, timeInSeries), 1.5),
        ...describe(`${what}, ${PIPELINED} at once`, await measureAll(calls, timePipelined), 1),
      );
    }
    return rows;
  } finally {
    await Promise.all([ours.close(), pool.terminate(true), tiny.destroy()]);
  }
}

type Times = Record<'ours' | 'workerpool' | 'tinypool', number>;

function measureAll(
  { ours, workerpool, tinypool }: Record<keyof Times, Call>,
  time: (call: Call) => Promise<number>,
): Promise<Times> {
  return measureInTurns(ROUNDS, {
    ours: () => time(ours),
    workerpool: () => time(workerpool),
    tinypool: () => time(tinypool),
  });
}

async function timeInSeries(call: Call): Promise<number> {
  const startedAt = performance.now();
  for (let i = 0; i < IN_SERIES; i++) await call();
  return ((performance.now() - startedAt) / IN_SERIES) * 1000;
}

async function timePipelined(call: Call): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: PIPELINED }, call));
  return ((performance.now() - startedAt) / PIPELINED) * 1000;
}

function describe(how: string, times: Times, most: number): BenchRow[] {
  return (['workerpool', 'tinypool'] as const).map((peer) => ({
    name: `residents: a warm compute ${how}`,
    value: times.ours,
    unit: 'us p50',
    peer: `${peer}, one child process without a sandbox`,
    peerValue: times[peer],
    ratio: times.ours / times[peer],
    target: most === 1 ? 'ahead of it' : `<= ${most}x`,
    met: times.ours <= most * times[peer],
  }));
}
