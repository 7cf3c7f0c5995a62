/**
 * What a run costs its host does not grow with the number of those that wait. `CAISSON_QUEUED_RUNS=300` is the nightly size
 * (docs/guides/nightly.md).
 */
import { readFileSync } from 'node:fs';
import { createCaisson, type Caisson } from 'caisson';
import { definedOnly } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { createProject } from '../e2e/project.ts';
import { serve } from './killed-daemons.ts';

const FEW = 10;
const MANY = Number(process.env['CAISSON_QUEUED_RUNS'] ?? 60);
/** A queue that is searched run by run costs a multiple of this with hundreds. */
const AT_MOST = 1.5;
const NO_OP = { runtime: 'command', argv: ['true'], workspace: 'empty', retries: 0 } as const;
const TICK_MS = 10;

it(
  'a run costs its daemon the same behind ten others and behind many, and all of them are done',
  { timeout: 60_000 + MANY * 2000 },
  async () => {
    const limits = { CAISSON_LIMITS_CONCURRENCY: '4', CAISSON_LIMITS_QUEUE: String(MANY) };
    // The same user as here.
    const project = createProject({ git: false, env: { ...definedOnly(process.env), ...limits } });
    const pid = await serve(project);
    const caisson = await createCaisson({ cwd: project.root, daemon: true });
    onTestFinished(() => caisson.close());
    await runAtOnce(caisson, pid, FEW); // compiles, and starts the ledger's thread
    const few = await runAtOnce(caisson, pid, FEW);
    const many = await runAtOnce(caisson, pid, MANY);
    expect(many / few, `${few} ms and ${many} ms of CPU time a run`).toBeLessThan(AT_MOST);
  },
);

/** Milliseconds of the daemon's CPU time for each of so many runs that are there at once. */
async function runAtOnce(caisson: Caisson, pid: number, count: number): Promise<number> {
  const before = readCpuMs(pid);
  const runs = await Promise.all(Array.from({ length: count }, () => caisson.dispatch(NO_OP)));
  const results = await Promise.all(runs.map(({ ended }) => ended));
  expect(results.filter(({ status }) => status === 'done')).toHaveLength(count);
  return (readCpuMs(pid) - before) / count;
}

/** Of the process itself, without its workers. */
function readCpuMs(pid: number): number {
  const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = after.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
