/**
 * A host of its own process: node soak-host.ts RUNS [PROGRAM], in a project. Dispatches small runs, a few at a time, and
 * says what it cost.
 */
import { readdirSync } from 'node:fs';
import { createCaisson, type Caisson, type DispatchRequest } from '@caisson/engine';

export interface SoakReport {
  readonly done: number;
  /** Resident memory and open files after a fifth of the runs, and after all of them. */
  readonly early: Usage;
  readonly late: Usage;
}

interface Usage {
  readonly memoryMiB: number;
  readonly files: number;
}

const AT_ONCE = 4;
const PROGRAMS: readonly string[] = ['true', 'echo hello', 'echo work > work.txt', 'exit 3'];
const [, , givenRuns, ...givenPrograms] = process.argv;
const programs = givenPrograms.length === 0 ? PROGRAMS : givenPrograms;

if (import.meta.main) process.stdout.write(JSON.stringify(await soak(Number(givenRuns))));

async function soak(runs: number): Promise<SoakReport> {
  const caisson = await createCaisson();
  try {
    const first = await dispatchMany(caisson, 0, Math.ceil(runs / 5));
    const early = measure();
    const rest = await dispatchMany(caisson, Math.ceil(runs / 5), runs);
    return { done: first + rest, early, late: measure() };
  } finally {
    await caisson.close();
  }
}

/** How many ended as their program wanted. */
async function dispatchMany(caisson: Caisson, from: number, to: number): Promise<number> {
  let next = from;
  let good = 0;
  const serve = async (): Promise<void> => {
    while (next < to) {
      const program = programs[(next += 1) % programs.length] ?? 'true';
      const { ended } = await caisson.dispatch(requestOf(program));
      const wanted = program.startsWith('exit') ? 'error' : 'done';
      if ((await ended).status === wanted) good += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, serve));
  return good;
}

function requestOf(program: string): DispatchRequest {
  return { runtime: 'command', argv: ['sh', '-c', program], retries: 0 };
}

function measure(): Usage {
  globalThis.gc?.();
  return {
    memoryMiB: Math.round(process.memoryUsage().rss / 2 ** 20),
    files: readdirSync('/proc/self/fd').length,
  };
}
