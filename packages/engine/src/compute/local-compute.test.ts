import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MARKER_NAME, readProcess } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';
import { createLocalCompute } from './local-compute.ts';

const options = { node: process.execPath, workerEntry: '', compileCache: null };

async function startMarked(runId: string) {
  const child = spawn('sleep', ['60'], { env: { [MARKER_NAME]: `${runId}.1` } });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  const startTime = readProcess(pid)?.startTime ?? '';
  return { kind: 'local', runId, attempt: 1, pid, startTime, cgroup: { name: '', procsFiles: [] } } as const;
}

it('a tree that is ended leaves nobody to tell of', async () => {
  const handle = await startMarked(`run_gone${process.pid}`);
  expect(await createLocalCompute(options).stop(handle)).toEqual([]);
  expect(readProcess(handle.pid)?.state ?? 'Z').toBe('Z');
});

it('whoever is still there when the time is over is told', async () => {
  const handle = await startMarked(`run_here${process.pid}`);
  const worker = { ...handle, startTime: '0' }; // another process by now: only the marked one is left
  expect(await createLocalCompute({ ...options, goneLimitMs: 0 }).stop(worker)).toEqual([handle.pid]);
});
