import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DispatchResult } from '@caisson/protocol';
import { createProject, finish, until, type Project } from './project.ts';

async function resultOf(project: Project, ...args: string[]): Promise<DispatchResult> {
  return JSON.parse((await project.caisson(...args, '-o', 'json')).stdout) as DispatchResult;
}

it(
  'a retry uses the input as it was, with its execute bit, after the file moved and after a gc',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    project.write('tool.sh', '#!/bin/sh\necho first\n');
    chmodSync(join(project.root, 'tool.sh'), 0o755);
    const run = await project.run('--input', 'tool=tool.sh', '--', 'sh', '-c', './inputs/tool; exit 1');
    expect(run).toMatchObject({ status: 'error', stdout: 'first\n' });
    renameSync(join(project.root, 'tool.sh'), join(project.root, 'moved.sh'));
    expect((await project.caisson('gc', '--older-than', '1ms')).code).toBe(0);
    expect((await project.caisson('verify', run.runId)).code).toBe(0);
    const again = await resultOf(project, 'retry', run.runId);
    expect(again).toMatchObject({ status: 'error', stdout: 'first\n', exitCode: 1 });
    const [accepted] = await project.events(again.runId);
    expect(accepted).toMatchObject({ inputs: [{ key: 'tool', isStored: true }] });
  },
);

it(
  'an input that is edited while its run waits is the one that was admitted',
  { timeout: 60_000 },
  async () => {
    const project = createProject({ config: 'limits: { concurrency: 1 }\n' });
    project.write('spec.txt', 'as admitted\n');
    await project.trust();
    const gate = join(project.root, 'go');
    const first = finish(
      project.start(
        'run',
        '--workspace',
        'in-place',
        '--',
        'sh',
        '-c',
        'until [ -e go ]; do sleep 0.05; done',
      ),
    );
    await until('the first run', async () =>
      (await project.caisson('runs', '--status', 'running')).stdout.includes('run_'),
    );
    const second = finish(
      project.start('run', '-o', 'json', '--input', 'spec=spec.txt', '--', 'cat', 'inputs/spec'),
    );
    await until('the second run to wait', async () =>
      (await project.caisson('runs', '--status', 'queued')).stdout.includes('run_'),
    );
    project.write('spec.txt', 'edited\n');
    writeFileSync(gate, '');
    expect((await first).code).toBe(0);
    expect(JSON.parse((await second).stdout)).toMatchObject({ status: 'done', stdout: 'as admitted\n' });
  },
);

it(
  'a stored input goes with its run: doctor misses it when it is gone, forget takes it away',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    project.write('large.txt', 'x'.repeat(100_000));
    const run = await project.run('--input', 'large=large.txt', '--', 'wc', '-c', 'inputs/large');
    expect(run).toMatchObject({ status: 'done', stdout: '100000 inputs/large\n' });
    const [accepted] = await project.events(run.runId);
    const [input] = (accepted?.['inputs'] ?? []) as { sha256: string }[];
    const sha256 = input?.sha256 ?? '';
    const blob = join(project.root, '.caisson/store/blobs', sha256.slice(0, 2), sha256.slice(2));
    renameSync(blob, `${blob}.away`);
    expect((await project.caisson('doctor')).stdout).toContain('input large');
    expect((await project.caisson('retry', run.runId)).stderr).toContain('no longer in the store');
    renameSync(`${blob}.away`, blob);
    expect((await project.caisson('forget', run.runId)).code).toBe(0);
    expect(() => renameSync(blob, blob)).toThrow('ENOENT');
  },
);
