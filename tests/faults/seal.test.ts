/** A worker that cannot write its result says so: the agent has run, so it is not started a second time. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DispatchResult } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { createProject, finish, until } from '../e2e/project.ts';
import { countCommands } from './processes.ts';

it(
  'a result that cannot be written is a failure of step 14, and the work is kept',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    const wait = `sleep 2.${process.pid}`;
    const ended = finish(
      project.start('run', '-o', 'json', '--', 'sh', '-c', `echo work > new; exec ${wait}`),
    );
    await until('the agent', () => countCommands(wait) > 0);
    const results = join(project.root, '.caisson/runtime/results');
    rmSync(results, { recursive: true });
    writeFileSync(results, 'no folder any more');
    const run = JSON.parse((await ended).stdout) as DispatchResult;
    expect(run).toMatchObject({ status: 'error', failure: { reason: 'worker-failed', step: 14 } });
    const launched = (await project.events(run.runId)).filter((event) => event.type === 'attempt.launched');
    expect(launched).toHaveLength(1);
    expect((await project.caisson('diff', run.runId)).stdout).toContain('+work');
  },
);
