/** Whatever an agent does to its git, and whenever its host dies: the work is on the branch, and the branch is somewhere. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createBareRemote } from './bare-remote.ts';
import { createProject, finish, until } from './project.ts';

/** Processes with the text in their arguments. */
function listProcesses(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(join('/proc', pid, 'cmdline'), 'utf8');
        return line.includes(text) ? [`${pid}: ${line}`] : [];
      } catch {
        return []; // it ended meanwhile
      }
    });
}

/** All of it but what is mounted there, read-only. */
const IS_GONE = '[ "$(ls -A .git | xargs)" = "borrowed config hooks" ] && ! git rev-parse HEAD';

describe('an agent on a remote repository', { timeout: 180_000 }, () => {
  it.each([
    ['rewrites history', 'git commit -q --amend -m other && git reset -q --hard HEAD', 'A\twork.txt'],
    [
      'begins a history of its own',
      'git checkout -q --orphan alone && git commit -q -m alone',
      'A\twork.txt',
    ],
    [
      'checks out another branch',
      'git checkout -q -b other && git commit -q --allow-empty -m x',
      'A\twork.txt',
    ],
    ['empties its git', `rm -rf .git/*; ${IS_GONE}`, 'A\twork.txt'],
    ['deletes its git', `rm -rf .git; ${IS_GONE}`, 'A\twork.txt'],
    ['commits it itself', 'git add . && git commit -q -m mine', 'A\twork.txt'],
  ])('that %s leaves its files on the branch, on top of the base', async (_what, script, changes) => {
    const remote = createBareRemote();
    const base = remote.find('main');
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const run = await project.run(...options, '--', 'sh', '-c', `echo x >work.txt; ${script}`);
    expect([run.cli.code, run.push?.status]).toEqual([0, 'pushed']);
    expect(remote.git('diff', '--name-status', 'main', 'work')).toBe(changes);
    expect(remote.git('merge-base', 'main', 'work')).toBe(base);
    expect(remote.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\nrefs/heads/work');
  });

  it('that deletes its git outside of a sandbox, to the last file, leaves its files on the branch, too', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push', '--sandbox', 'none'];
    const script = 'echo x >work.txt; [ -e .git ] && rm -rf .git && [ ! -e .git ]';
    const run = await project.run(...options, '--network', 'full', '--', 'sh', '-c', script);
    expect([run.cli.code, run.push?.status]).toEqual([0, 'pushed']);
    expect(remote.git('diff', '--name-status', 'main', 'work')).toBe('A\twork.txt');
    expect(remote.git('rev-parse', 'work^')).toBe(remote.find('main'));
  });

  it('that changes nothing gets no branch, says so, and is no failure', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const run = await project.run(...options, '--', 'sh', '-c', 'echo x >work.txt; rm work.txt');
    expect([run.cli.code, run.status, run.branch, run.push]).toEqual([0, 'done', undefined, undefined]);
    expect(run.handoff).toMatchObject({
      branch: 'work',
      verdict: { isEmpty: true, branchExists: false, pushed: false, patchApplies: true },
    });
    expect(remote.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
    expect((await project.caisson('branches')).stdout).toBe('No branch waits.\n');
    const shown = (await project.caisson('show', run.runId)).stdout;
    expect(shown).toContain('branch: work was not made: nothing was changed');
    expect(shown).toContain('checked: nothing was changed, so no branch was made');
    const again = await project.run(...options, '--', 'sh', '-c', 'echo x >work.txt');
    expect([again.cli.code, again.push?.status]).toEqual([0, 'pushed']);
  });

  it('that continues a branch and has nothing to do any more moves that branch', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const first = await project.run(...options, '--', 'sh', '-c', '[ -e done ] || echo x >work.txt');
    const before = remote.find('work');
    remote.commit({ done: 'by another\n' });
    const again = await project.caisson('retry', first.runId, '-o', 'json');
    expect([again.code, remote.git('rev-parse', 'work^1')]).toEqual([0, before]);
    expect(remote.git('ls-tree', '--name-only', 'work')).toBe('a.txt\ndone');
  });

  it('gets filters, pointers, hooks and submodules as files, and none of them runs', async () => {
    const remote = createBareRemote({
      '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n*.c filter=evil\n',
      'a.bin': 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n',
      'a.c': 'int x;\n',
      '.gitmodules': '[submodule "sub"]\n\tpath = sub\n\turl = ./elsewhere\n',
      '.githooks/post-checkout': '#!/bin/sh\ntouch trapped\n',
    });
    const link = `160000,${remote.find('main') ?? ''},sub`;
    remote.clone('update-index', '--add', '--cacheinfo', link);
    remote.clone('commit', '-qm', 'link');
    remote.clone('push', '-q', 'origin', 'HEAD:main');
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const run = await project.run(...options, '--', 'sh', '-c', 'cat a.bin; ls sub; echo x >work.txt');
    expect([run.cli.code, run.stdout]).toEqual([0, expect.stringContaining('oid sha256:0')]);
    expect(remote.git('diff', '--name-status', 'main', 'work')).toBe('A\twork.txt');
    expect(remote.git('ls-tree', 'work', 'sub')).toContain('160000 commit');
    const warnings = (await project.events(run.runId)).filter(({ type }) => type === 'warning');
    expect(JSON.stringify(warnings)).toContain('not checked out, so empty for the run: submodule sub');
  });

  it('that runs out of time outside its scope is listed with what helps, until it is dropped', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'late', '--push', '--scope', 'src/**'];
    const limits = ['--timeout', '3s', '--retries', '0'];
    const run = await project.run(...options, ...limits, '--', 'sh', '-c', 'echo x >work.txt; sleep 600');
    expect([run.status, run.branch?.status]).toEqual(['timeout', 'held']);
    const listed = await project.caisson('branches');
    expect(listed.stdout).toMatch(
      new RegExp(
        `${run.runId} +late +timed out +not made: 1 changed file is outside the scope of the task\n\n${run.runId}: .*git --git-dir`,
      ),
    );
    const pushed = await project.caisson('branches', run.runId, '--push');
    expect([pushed.code, pushed.stderr]).toEqual([1, expect.stringContaining('was not made')]);
    expect((await project.caisson('branches', '--push')).stdout).toBe(
      'No branch waits to be pushed; there is 1 that only you can make or drop: caisson branches\n',
    );
    const dropped = await project.caisson('branches', run.runId, '--drop');
    expect([dropped.code, dropped.stdout]).toEqual([0, expect.stringContaining('is off the list; its work')]);
    expect((await project.caisson('branches')).stdout).toBe('No branch waits.\n');
    expect(remote.find('late')).toBe(null);
  });

  it('that runs out of time is killed, and what it did is committed, pushed and listed', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    const options = [
      '--repo',
      remote.path,
      '--branch',
      'late',
      '--push',
      '--timeout',
      '3s',
      '--retries',
      '0',
    ];
    const run = await project.run(...options, '--', 'sh', '-c', 'echo x >work.txt; sleep 600');
    expect([run.cli.code, run.status, run.push?.status]).toEqual([124, 'timeout', 'pushed']);
    expect(remote.git('show', 'late:work.txt')).toBe('x');
    expect(run.handoff).toMatchObject({
      ...{ status: 'partial', by: 'host', filesChanged: ['work.txt'], headCommit: remote.find('late') },
      verdict: { patchApplies: true, branchExists: true, pushed: true, isEmpty: false },
    });
    const { stdout } = await project.caisson('branches', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject([{ runId: run.runId, branch: 'late', status: 'timeout' }]);
    const dropped = await project.caisson('branches', run.runId, '--drop');
    expect([dropped.code === 0, dropped.stderr]).toEqual([
      false,
      expect.stringContaining('is on its remote'),
    ]);
    expect((await project.caisson('branches')).stdout).toContain('late');
    const again = await project.caisson('retry', run.runId, '--timeout', '3s');
    expect([again.code, (await project.caisson('branches', run.runId)).stdout]).toEqual([
      124,
      'No branch waits.\n',
    ]);
  });
});

describe('a host that is killed', { timeout: 180_000 }, () => {
  it('while the agent works leaves the branch to the next one, which pushes it', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    const begun = join(project.root, '..', 'begun');
    const options = [
      '--repo',
      remote.path,
      '--branch',
      'work',
      '--push',
      '--sandbox',
      'none',
      '--network',
      'full',
    ];
    const program = `echo x >work.txt; touch ${begun}; sleep 600`;
    const host = project.start('run', '-o', 'json', ...options, '--', 'sh', '-c', program);
    await until('the agent has begun', () => existsSync(begun), 60_000);
    host.kill('SIGKILL');
    await finish(host);
    const listed = await project.caisson('branches', '-o', 'json');
    expect(JSON.parse(listed.stdout)).toMatchObject([{ status: 'interrupted', push: { status: 'pending' } }]);
    const [{ runId }] = JSON.parse(listed.stdout) as [{ runId: string }];
    expect((await project.run('--workspace', 'empty', '--', 'true')).cli.code).toBe(0);
    const { stdout } = await project.caisson('show', runId, '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'interrupted', push: { status: 'pushed' } });
    expect(remote.git('show', 'work:work.txt')).toBe('x');
  });

  it('while it pushes leaves one branch and one outcome', async () => {
    const remote = createBareRemote();
    const [begun, mayEnd] = [`${remote.path}.begun`, `${remote.path}.end`];
    remote.hook('pre-receive', `touch ${begun}; until [ -e ${mayEnd} ]; do sleep 0.05; done`);
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const host = project.start('run', '-o', 'json', ...options, '--', 'sh', '-c', 'echo x >work.txt');
    await until('the push has begun', () => existsSync(begun), 60_000);
    host.kill('SIGKILL');
    await finish(host);
    const unsettled = await project.caisson('branches', '-o', 'json');
    expect(JSON.parse(unsettled.stdout)).toMatchObject([{ branch: 'work', push: { status: 'pending' } }]);
    const [{ runId }] = JSON.parse(unsettled.stdout) as [{ runId: string }];
    writeFileSync(mayEnd, '');
    expect((await project.run('--workspace', 'empty', '--', 'true')).cli.code).toBe(0);
    const { stdout } = await project.caisson('show', runId, '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'done', push: { status: 'pushed' } });
    expect(remote.git('show', 'work:work.txt')).toBe('x');
    expect((await project.caisson('branches')).stdout).toBe('No branch waits.\n');
    expect(readdirSync(join(project.root, '.caisson/worktrees'))).toEqual([]);
  });

  it('before it can record that the remote has the branch: a retry as the next command goes on from there', async () => {
    const remote = createBareRemote();
    const [taken, mayEnd] = [`${remote.path}.taken`, `${remote.path}.end`];
    remote.hook('post-receive', `touch ${taken}; until [ -e ${mayEnd} ]; do sleep 0.05; done`);
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const host = project.start('run', '-o', 'json', ...options, '--', 'sh', '-c', 'date +%N >work.txt');
    await until('the remote has it', () => existsSync(taken), 60_000);
    host.kill('SIGKILL');
    await finish(host);
    writeFileSync(mayEnd, '');
    const first = remote.find('work');
    const again = await project.caisson('retry', 'latest', '-o', 'json');
    expect([again.code, again.stderr]).toEqual([0, expect.not.stringContaining('has a branch work')]);
    expect(JSON.parse(again.stdout)).toMatchObject({ status: 'done', push: { status: 'pushed' } });
    expect([remote.git('rev-parse', 'work^'), first === null]).toEqual([first, false]);
  });

  it('in the middle of a push leaves no process of it, and the branch to the next host', async () => {
    const remote = createBareRemote();
    const begun = `${remote.path}.begun`;
    remote.hook('pre-receive', `touch ${begun}; sleep 599.5`);
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const host = project.start('run', '-o', 'json', ...options, '--', 'sh', '-c', 'echo x >work.txt');
    await until('the push has begun', () => existsSync(begun), 60_000);
    host.kill('SIGTERM');
    await finish(host);
    expect(listProcesses(remote.path)).toEqual([]);
    const { stdout } = await project.caisson('branches', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject([{ status: 'done', push: { status: 'pending' } }]);
  });

  it('has pushed when its own push arrives while the next host tries it again', async () => {
    const remote = createBareRemote();
    remote.hook('update', 'git update-ref "$1" "$3"');
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const run = await project.run(...options, '--', 'sh', '-c', 'echo x >work.txt');
    expect([run.cli.code, run.push?.status]).toEqual([0, 'pushed']);
    expect(remote.find('work')).toBe(run.branch?.commit);
  });

  it('may drop a branch that the remote does not want: its work stays in the checkpoint', async () => {
    const remote = createBareRemote();
    remote.hook('pre-receive', 'exit 1');
    const project = createProject({ git: false });
    const run = await project.run(
      '--repo',
      remote.path,
      '--branch',
      'work',
      '--push',
      '--',
      'sh',
      '-c',
      'echo x >w',
    );
    expect((await project.caisson('branches', '--push')).code).toBe(1);
    expect((await project.caisson('branches', run.runId, '--drop')).code).toBe(0);
    expect((await project.caisson('branches')).stdout).toBe('No branch waits.\n');
    expect((await project.caisson('diff', run.runId)).stdout).toContain('+x');
    expect((await project.caisson('branches', run.runId, '--push')).stderr).toContain(
      'has no branch for a remote',
    );
  });
});
