/**
 * Zero survivors: whatever a run started is gone when `caisson run` returns, and within two seconds of a kill -9 of
 * the host or of the worker. CAISSON_FAULT_TREES sets how many trees are grown; nightly it is 200.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createProject, finish, pidsWith, until, type Project } from '../e2e/project.ts';
import { createRandom, growTree } from './process-trees.ts';

const TREES = Number(process.env['CAISSON_FAULT_TREES'] ?? 12);
const GRACE_MS = 1000;
const KILL_LIMIT_MS = 2000;

type Ending = 'timeout' | 'cancel' | 'kill-host' | 'kill-worker';
const ENDINGS: readonly Ending[] = ['timeout', 'cancel', 'kill-host', 'kill-worker'];

describe('zero survivors', () => {
  for (const sandbox of ['bwrap', 'none'] as const) {
    for (const ending of ENDINGS) {
      it(`leaves nothing of ${Math.ceil(TREES / 4)} random trees after ${ending} (sandbox ${sandbox})`, async () => {
        for (let index = 0; index < Math.ceil(TREES / 4); index += 1) {
          const seed = index * 31 + ENDINGS.indexOf(ending);
          const project = createProject({ git: false, config: 'limits: { grace: 1s }\n' });
          await endTree(project, seed, ending, sandbox);
        }
      }, 600_000);
    }
  }
});

async function endTree(project: Project, seed: number, ending: Ending, sandbox: string): Promise<void> {
  const mark = `9${String(process.pid).padStart(6, '0')}${String(seed).padStart(4, '0')}`;
  const ready = `${project.root}/ready`;
  const program = growTree(createRandom(seed), mark, ready);
  const timeout = ending === 'timeout' ? ['--timeout', '2s'] : [];
  const child = project.start('run', '-o', 'json', '--retries', '0', '--sandbox', sandbox, ...timeout, '--', 'bash', '-c', program);
  const ended = finish(child);
  await until(`tree ${seed} ran: ${program}`, () => existsSync(ready) && pidsWith(`sleep ${mark}`).length > 0);
  const startedMs = performance.now();
  if (ending === 'cancel') child.kill('SIGTERM');
  if (ending === 'kill-host') child.kill('SIGKILL');
  if (ending === 'kill-worker') process.kill(findWorker(child.pid ?? 0), 'SIGKILL');
  if (ending === 'timeout' || ending === 'cancel') {
    await ended;
    expect(performance.now() - startedMs).toBeLessThan((ending === 'timeout' ? 2000 : 0) + GRACE_MS + 2000 + 1500);
    expect(pidsWith(mark), `survivors of ${program}`).toEqual([]);
    return;
  }
  await until(`nothing of tree ${seed} is left: ${program}`, () => pidsWith(mark).length === 0, KILL_LIMIT_MS);
  await ended;
}

function findWorker(hostPid: number): number {
  const listed = execFileSync('ps', ['--ppid', String(hostPid), '-o', 'pid='], { encoding: 'utf8' });
  const workers = listed
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(Number)
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker.mjs'));
  const [worker] = workers;
  if (worker === undefined) throw new Error(`host ${hostPid} has no worker`);
  return worker;
}
