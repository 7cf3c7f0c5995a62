import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { MARKER_NAME, readProcess } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';
import { WorkerHandle } from './contract.ts';
import { createLocalCompute } from './local-compute.ts';
import { createSpareWorkers } from './spare-worker.ts';

const worker = { node: process.execPath, workerEntry: '', compileCache: null };
const options = { ...worker, spares: createSpareWorkers({ ...worker, keepsNext: false }) };

async function startMarked(runId: string) {
  const child = spawn('sleep', ['60'], { env: { [MARKER_NAME]: `${runId}.1` } });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  const startTime = readProcess(pid)?.startTime ?? '';
  return { kind: 'local', key: `${runId}.1`, pid, startTime, cgroup: { name: '', procsFiles: [] } } as const;
}

it('a tree that is ended leaves no process to report', async () => {
  const handle = await startMarked(`run_gone${process.pid}`);
  expect(await createLocalCompute(options).stop(handle)).toEqual([]);
  expect(readProcess(handle.pid)?.state ?? 'Z').toBe('Z');
});

it('a process that is still there when the time is over is reported', async () => {
  const handle = await startMarked(`run_here${process.pid}`);
  const worker = { ...handle, startTime: '0' }; // another process by now: only the marked one is left
  expect(await createLocalCompute({ ...options, goneLimitMs: 0 }).stop(worker)).toEqual([handle.pid]);
});

it('what a worker prints before there is a listener is kept, also by a host that keeps a spare one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-compute-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const workerEntry = join(folder, 'worker.mjs');
  const said = join(folder, 'said');
  const program = `import { writeFileSync } from 'node:fs';
    process.stdout.write('first\\n', () => writeFileSync(process.env.CAISSON_JOB_FILE, ''));
    setInterval(() => undefined, 1000);`;
  writeFileSync(workerEntry, program);
  const compute = createLocalCompute({
    ...options,
    workerEntry,
    spares: createSpareWorkers({ ...options, workerEntry, keepsNext: true }),
  });
  onTestFinished(() => compute.spares.stop());
  const worker = await compute.start({
    ...{ key: 'run_a.1', jobFile: said, env: {}, path: process.env['PATH'] ?? '', cwd: folder },
  });
  onTestFinished(() => worker.kill());
  await expect.poll(() => existsSync(said), { timeout: 10_000 }).toBe(true); // and no one listens yet
  await setImmediate();
  const [chunk] = (await once(worker.stdout, 'data')) as [Buffer];
  expect(chunk.toString()).toBe('first\n');
});

it('a handle of an older ledger, which names run and attempt, is the handle of their key', () => {
  const place = {
    kind: 'local',
    pid: 7,
    startTime: '9',
    cgroup: { name: 'run_a.2', procsFiles: [] },
  } as const;
  expect(WorkerHandle.parse({ ...place, runId: 'run_a', attempt: 2 })).toEqual({ ...place, key: 'run_a.2' });
  expect(WorkerHandle.parse({ ...place, key: 'res_b' })).toEqual({ ...place, key: 'res_b' });
});
