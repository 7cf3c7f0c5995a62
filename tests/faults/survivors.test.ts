/**
 * Zero survivors: whatever a run started is gone when `caisson run` returns, and within two seconds of a kill -9 of
 * the host, of the worker, or of both at once. CAISSON_FAULT_TREES sets how many trees are grown in all; nightly it is 200.
 */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createProject, finish, pidsWith, until, type Project } from '../e2e/project.ts';
import { findWorker, slowness } from './processes.ts';
import { createRandom, growTree } from './process-trees.ts';

const TREES = Number(process.env['CAISSON_FAULT_TREES'] ?? 16);
const GRACE_MS = 500;
const SETTLE_LIMIT_MS = 2000;
const KILL_LIMIT_MS = 2000;

type Ending = 'timeout' | 'cancel' | 'kill-host' | 'kill-worker' | 'kill-both';
const ENDINGS: readonly Ending[] = ['timeout', 'cancel', 'kill-host', 'kill-worker', 'kill-both'];
const SANDBOXES = ['bwrap', 'none'] as const;

describe('zero survivors', () => {
  for (const sandbox of SANDBOXES) {
    for (const ending of ENDINGS) {
      const count = Math.ceil(TREES / (ENDINGS.length * SANDBOXES.length));
      it(`leaves nothing of ${count} random trees after ${ending} (sandbox ${sandbox})`, async () => {
        for (let index = 0; index < count; index += 1) {
          const seed = index * 31 + ENDINGS.indexOf(ending) * 7 + SANDBOXES.indexOf(sandbox);
          const project = createProject({ git: false, config: `limits: { grace: ${GRACE_MS}ms }\n` });
          await endTree(project, seed, ending, sandbox);
        }
      }, 600_000);
    }
  }
});

async function endTree(project: Project, seed: number, ending: Ending, sandbox: string): Promise<void> {
  const mark = `9${String(process.pid).padStart(6, '0')}${String(seed).padStart(4, '0')}`;
  const tree = growTree(createRandom(seed), mark, `${project.root}/ready`);
  const timeoutMs = ending === 'timeout' ? 2000 : 0;
  const timeout = ending === 'timeout' ? ['--timeout', '2s'] : [];
  const child = project.start(
    ...['run', '-o', 'json', '--retries', '0', '--sandbox', sandbox, ...timeout],
    ...['--', 'bash', '-c', tree.program],
  );
  const ended = finish(child);
  // Each tree is proven to have run: everything it was to start is seen before it is ended.
  await until(
    `tree ${seed} stands: ${tree.program}`,
    () => existsSync(`${project.root}/ready`) && pidsWith(`sleep ${mark}`).length >= tree.sleepers,
  );
  const startedMs = performance.now();
  if (ending === 'cancel') child.kill('SIGTERM');
  if (ending === 'kill-host') child.kill('SIGKILL');
  if (ending === 'kill-both') {
    const worker = findWorker(child.pid ?? 0);
    process.kill(child.pid ?? 0, 'SIGSTOP'); // so that neither sees the other's end
    process.kill(worker, 'SIGKILL');
    child.kill('SIGKILL');
  }
  if (ending === 'kill-worker') process.kill(findWorker(child.pid ?? 0), 'SIGKILL');
  if (ending === 'timeout' || ending === 'cancel') {
    await ended;
    const tookMs = performance.now() - startedMs;
    expect(pidsWith(mark), `survivors of ${tree.program}`).toEqual([]);
    expect(tookMs).toBeLessThan(timeoutMs + GRACE_MS + SETTLE_LIMIT_MS * slowness());
    return;
  }
  await until(
    `nothing of tree ${seed} is left: ${tree.program}`,
    () => pidsWith(mark).length === 0,
    KILL_LIMIT_MS * slowness(),
  );
  await ended;
}
