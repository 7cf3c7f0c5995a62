/** Between two attempts: what the first one did is neither lost nor mixed with the second. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DispatchResult, WireEvent } from '@caisson/protocol';
import { startModelServer } from '@caisson/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, finish, pidsWith, until, type CliRun, type Project } from '../e2e/project.ts';
import { readCommand } from './processes.ts';

/** A run whose worker is killed once its agent has written. */
async function startAndKillWorker(
  project: Project,
  mark: string,
  ...args: string[]
): Promise<{ runId: string; ended: Promise<CliRun> }> {
  const ended = finish(project.start('run', '-o', 'json', ...args));
  await until('the agent waits', () => pidsWith(mark).some((pid) => readCommand(pid).startsWith('sleep')));
  const [row] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[];
  const runId = row?.runId ?? '';
  const worker = workerPid(await project.events(runId));
  expect(worker).toBeGreaterThan(1);
  process.kill(worker, 'SIGKILL');
  return { runId, ended };
}

function workerPid(events: readonly WireEvent[]): number {
  const launched = events.findLast((event) => event.type === 'attempt.launched');
  return (launched?.['handle'] as { pid: number } | undefined)?.pid ?? 0;
}

describe('a worker that dies', { timeout: 120_000 }, () => {
  it('is not followed by another in place once files were changed: they would be changed twice', async () => {
    const project = createProject();
    const mark = `sleep 71${process.pid}`;
    const { runId, ended } = await startAndKillWorker(
      project,
      mark,
      ...['--workspace', 'in-place', '--', 'sh', '-c', `echo step >> README.md; exec ${mark}`],
    );
    const result = JSON.parse((await ended).stdout) as DispatchResult;
    expect(result).toMatchObject({ status: 'error', failure: { reason: 'crashed' } });
    expect(result.failure?.detail).toContain('not tried again');
    expect(readFileSync(join(project.root, 'README.md'), 'utf8')).toBe('# sample\nstep\n');
    expect((await project.caisson('diff', runId)).stdout).toContain('+step');
  });

  it('is followed by another in place while nothing was changed', async () => {
    const project = createProject();
    const mark = `sleep 72${process.pid}`;

    const program = `exec ${mark}`;
    const { runId, ended } = await startAndKillWorker(
      project,
      mark,
      ...['--workspace', 'in-place', '--', 'sh', '-c', program],
    );
    await until('the second attempt', async () =>
      (await project.events(runId)).some((event) => event.type === 'attempt.launched' && event.attempt === 2),
    );
    await project.caisson('cancel', runId);
    expect((await ended).code).toBe(130);
  });

  it('leaves the branch to the attempt that ends the run', async () => {
    const project = createProject();
    const mark = `sleep 75${process.pid}`;
    const flag = join(project.root, '../was-here');
    const program = `if [ -e ${flag} ]; then echo second >work.txt; exit; fi; touch ${flag}; echo first >work.txt; exec ${mark}`;
    const { runId, ended } = await startAndKillWorker(
      project,
      mark,
      ...['--sandbox', 'none', '--network', 'full', '--branch', 'work', '--', 'sh', '-c', program],
    );
    const { code, stdout } = await ended;
    const result = JSON.parse(stdout) as DispatchResult;
    expect([code, result.status, result.branch?.status]).toEqual([0, 'done', 'created']);
    expect(project.git('show', 'work:work.txt')).toBe('second\n');
    expect(project.git('show', `refs/caisson/${runId}/1:work.txt`)).toBe('first\n');
    // The branch has the work of the second attempt alone.
    const { stdout: kept } = await project.caisson('gc', '--all', '--older-than', '0s');
    expect(kept).toContain(`kept ${runId}: `);
  });

  it('and whose next attempt fails with nothing: the ending names its work', async () => {
    const project = createProject();
    const mark = `sleep 77${process.pid}`;
    const flag = join(project.root, '../was-here');
    const program = `if [ -e ${flag} ]; then exit 3; fi; touch ${flag}; echo first >work.txt; exec ${mark}`;
    const { runId, ended } = await startAndKillWorker(
      project,
      mark,
      ...['--sandbox', 'none', '--network', 'full', '--', 'sh', '-c', program],
    );
    const result = JSON.parse((await ended).stdout) as DispatchResult;
    expect([result.status, result.total?.attempts, result.leftWork]).toEqual(['error', 2, true]);
    expect((await project.caisson('diff', runId)).stdout).toContain('+first');
    expect((await project.caisson('apply', runId)).code).toBe(0);
    expect(readFileSync(join(project.root, 'work.txt'), 'utf8')).toBe('first\n');
  });

  it('and a cancel before the next attempt: the ending is of the attempt that ran, with its work', async () => {
    const project = createProject();
    const mark = `sleep 73${process.pid}`;
    const { runId, ended } = await startAndKillWorker(
      project,
      mark,
      ...['--branch', 'work', '--', 'sh', '-c', `echo step >> README.md; exec ${mark}`],
    );
    await until('the attempt has ended', async () =>
      (await project.events(runId)).some((event) => event.type === 'attempt.ended'),
    );
    await project.caisson('cancel', runId);
    expect((await ended).code).toBe(130);
    const cancelled = (await project.events(runId)).find((event) => event.type === 'dispatch.cancelled');
    expect(cancelled).toMatchObject({
      attempt: 1,
      cause: 'user',
      branch: { name: 'work', status: 'created' },
    });
    expect(project.git('show', 'work:README.md')).toBe('# sample\nstep\n');
    const { status, durationMs = 0 } = JSON.parse((await ended).stdout) as DispatchResult;
    expect([status, durationMs]).toEqual(['cancelled', cancelled?.['durationMs']]);
    const events = await project.events(runId);
    const launchedMs = Date.parse(events.find((event) => event.type === 'attempt.launched')?.at ?? '');
    const cancelledMs = Date.parse(cancelled?.at ?? '');
    // From the start of the worker that ran to the cancel: the pause is part of it, the time before is not.
    expect(durationMs).toBeGreaterThan(0);
    expect(Math.abs(durationMs - (cancelledMs - launchedMs))).toBeLessThan(500);
    expect((await project.caisson('diff', runId)).stdout).toContain('+step');
    expect((await project.caisson('verify', runId)).code).toBe(0);
  });
});

describe('an agent whose worker dies', { timeout: 120_000 }, () => {
  it('continues its conversation and its work in the next attempt', async () => {
    const mark = `sleep 76${process.pid}`;
    const key = 'sk-ant-real-Zq81xP0vTn55LmRw7YbKc2';
    const model = await startModelServer({
      script: [
        { when: 'go on from it', turns: [{ say: 'I went on.' }] },
        {
          when: 'draw it',
          turns: [
            { tool: { intent: 'write-file', path: 'sketch.txt', content: 'sketched\n' } },
            { tool: { intent: 'run-command', command: mark } },
          ],
        },
      ],
      apiKey: key,
    });
    onTestFinished(() => model.stop());
    const project = createProject({
      env: { MODEL_KEY: key },
      config: `runtimes:\n  native: { endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: "claude-sonnet-4-5" }\n`,
    });
    await project.trust();
    const { runId, ended } = await startAndKillWorker(project, mark, '--runtime', 'native', 'draw it');
    const result = JSON.parse((await ended).stdout) as DispatchResult;
    expect([result.failure, result.reply, result.total?.attempts]).toEqual([undefined, 'I went on.', 2]);
    expect((await project.caisson('diff', runId)).stdout).toContain('+sketched');
    expect(JSON.stringify(model.modelRequests().at(-1)?.body)).toContain('sketch.txt'); // it remembers
  });
});
