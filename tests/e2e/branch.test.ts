/** `--branch`: the branch belongs to the run, is written once, when the run ends, and never over another person's. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, finish, until } from './project.ts';

const write = (text: string): string[] => ['--', 'sh', '-c', `echo ${text} >work.txt`];

describe('a branch that cannot be created is refused before there is a run', { timeout: 120_000 }, () => {
  it('because it is there, in the way, checked out or without a repository', async () => {
    const project = createProject();
    project.git('branch', 'taken');
    project.git('branch', 'folder/inside');
    for (const name of ['taken', 'taken/below', 'folder', 'main']) {
      const refused = await project.caisson('run', '--branch', name, ...write('x'));
      expect([name, refused.code, refused.stdout]).toEqual([name, 2, '']);
      expect(refused.stderr).toMatch(/cannot be created: .*\(check: branch-free\)\. Choose another name/);
    }
    const empty = await project.caisson('run', '--workspace', 'empty', '--branch', 'free', ...write('x'));
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('in no git repository')]);
    expect((await project.caisson('runs', '-o', 'json')).stdout.trim()).toBe('[]');

    const unborn = createProject({ git: false });
    unborn.git('init', '-q', '-b', 'main');
    const first = await unborn.caisson('run', '--branch', 'main', ...write('x'));
    expect([first.code, first.stderr]).toEqual([2, expect.stringContaining('main is checked out in')]);
  });
});

describe('a branch that would stand for something else, too, is refused', { timeout: 120_000 }, () => {
  it('because git has a remote, a tag or a ref of this name', async () => {
    const project = createProject();
    project.git('tag', 'v1');
    project.git('remote', 'add', 'upstream', '/nowhere');
    project.git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    project.git('update-ref', 'refs/notes/mine', 'HEAD');
    for (const name of ['v1', 'upstream', 'upstream/main', 'origin/main', 'origin', 'notes/mine']) {
      const { code, stderr } = await project.caisson('run', '--branch', name, ...write('x'));
      expect([name, code, stderr]).toEqual([name, 2, expect.stringContaining('stands for')]);
    }
    for (const name of ['HEAD', 'FETCH_HEAD', 'refs/heads/x']) {
      const { code, stderr } = await project.caisson('run', '--branch', name, ...write('x'));
      expect([name, code, stderr]).toEqual([name, 2, expect.stringContaining('not a valid name')]);
    }
    expect((await project.caisson('run', '--branch', 'originals', ...write('x'))).code).toBe(0);
  });
});

describe('a branch that is taken meanwhile', { timeout: 120_000 }, () => {
  it('is left alone: the run is done, names its checkpoint and exits 1', async () => {
    const project = createProject();
    const [hasBegun, mayEnd] = ['begun', 'end'].map((name) => join(project.root, '..', name));
    const program = `echo mine >work.txt; touch ${hasBegun}; until [ -e ${mayEnd} ]; do sleep 0.05; done`;
    const options = ['--sandbox', 'none', '--network', 'full', '--branch', 'work'];
    const host = finish(project.start('run', '-o', 'json', ...options, '--', 'sh', '-c', program));
    await until('the agent has begun', () => existsSync(hasBegun ?? ''));
    project.git('branch', 'work');
    const before = project.git('rev-parse', 'work');
    project.write('../end', '');
    const { code, stdout } = await host;
    const { runId, status, branch } = JSON.parse(stdout) as {
      runId: string;
      status: string;
      branch: { commit: string };
    };
    const ref = `refs/caisson/${runId}/1`;
    expect([code, status]).toEqual([1, 'done']);
    expect(branch).toEqual({
      name: 'work',
      commit: project.git('rev-parse', `refs/caisson/${runId}/branch/1`).trim(),
      status: 'taken',
      detail: `there is already a branch work; the work is in ${ref}: git branch OTHER-NAME ${branch.commit}`,
    });
    expect(project.git('rev-parse', 'work')).toBe(before);
    const shown = await project.caisson('show', runId);
    expect(shown.stdout).toContain(
      `branch: work was not created: there is already a branch work; the work is in ${ref}`,
    );
    expect(project.git('show', `${ref}:work.txt`)).toBe('mine\n');
    expect((await project.events(runId)).filter(({ type }) => type === 'warning')).toEqual([]);
  });
});

describe('a run that continues another', { timeout: 120_000 }, () => {
  it('moves the branch of that one, and only from where that one left it', async () => {
    const project = createProject();
    const first = await project.run('--branch', 'work', '--', 'sh', '-c', 'date +%N >work.txt');
    expect(first.branch).toMatchObject({ name: 'work', status: 'created' });
    const retried = await project.caisson('retry', first.runId, '-o', 'json');
    const second = JSON.parse(retried.stdout) as typeof first;
    expect([retried.code, second.branch?.status]).toEqual([0, 'created']);
    expect(project.git('show', 'work:work.txt')).toBe(
      project.git('show', `refs/caisson/${second.runId}/1:work.txt`),
    );

    project.git('branch', '-f', 'work', 'main');
    const refused = await project.caisson('retry', second.runId);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('there is already a branch work'),
    ]);
    project.git('branch', '-D', 'work');
    expect((await project.caisson('retry', second.runId)).code).toBe(0);
    const [title, , body] = project.git('log', '-1', '--format=%B', 'work').split('\n');
    expect([title, body]).toEqual([
      expect.stringMatching(/^sh -c /),
      expect.stringMatching(/^caisson: run_/),
    ]);
  });
});

describe('a branch of a run that ran out of time', { timeout: 120_000 }, () => {
  it('is listed until it is dropped, and not dropped while it is checked out', async () => {
    const project = createProject();
    const options = ['--branch', 'late', '--timeout', '3s', '--retries', '0'];
    const run = await project.run(...options, '--', 'sh', '-c', 'echo x >work.txt; sleep 600');
    expect([run.status, run.branch?.status]).toEqual(['timeout', 'created']);
    expect((await project.caisson('branches')).stdout).toContain('in this repository');
    const pushed = await project.caisson('branches', run.runId, '--push');
    expect(pushed.stderr).toContain('push it from there, with git');
    project.git('switch', '-q', 'late');
    const refused = await project.caisson('branches', run.runId, '--drop');
    expect([refused.code === 0, refused.stderr]).toEqual([
      false,
      expect.stringContaining('is checked out in'),
    ]);
    project.git('switch', '-q', '-');
    expect((await project.caisson('branches', run.runId, '--drop')).code).toBe(0);
    expect(project.git('branch', '--list', 'late')).toBe('');
    expect((await project.caisson('branches')).stdout).toBe('No branch waits.\n');
    expect((await project.caisson('diff', run.runId)).stdout).toContain('+x');
  });
});
