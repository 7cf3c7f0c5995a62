/** `--repo`, `--branch`, `--push` on a repository of this machine: the flow from the base to the pushed branch. */
import { cpSync, existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createBareRemote } from './bare-remote.ts';
import { createProject, type Project } from './project.ts';

const write = (text: string): string[] => ['--', 'sh', '-c', `echo ${text} >work.txt`];

/** What the caches of a project have under these names. */
function listCached(project: Project, prefix: string): string[] {
  const remotes = join(project.root, '.caisson/remotes');
  return readdirSync(remotes).flatMap((name) =>
    project
      .git(`--git-dir=${join(remotes, name)}`, 'for-each-ref', '--format=%(refname)', prefix)
      .split('\n')
      .filter(Boolean),
  );
}

describe('a run on a bare repository', { timeout: 120_000 }, () => {
  it('ends in a pushed branch, and leaves project and remote as they were beside it', async () => {
    const remote = createBareRemote({ 'a.txt': 'one\n', 'src/b.txt': 'two\n' });
    const base = remote.git('rev-parse', 'main');
    const project = createProject({ git: false });
    const script = 'cat a.txt src/b.txt; git log --format=%H; git branch -a; echo new >work.txt';
    const options = ['--repo', remote.path, '--branch', 'worker/one', '--push'];
    const run = await project.run(...options, '--', 'sh', '-c', script);
    expect([run.cli.code, run.status]).toEqual([0, 'done']);
    expect(run.stdout).toBe(`one\ntwo\n${base}\n* main\n  remotes/origin/main\n`);
    expect(run.branch).toEqual({ name: 'worker/one', commit: remote.find('worker/one'), status: 'created' });
    expect(run.push).toEqual({ remote: remote.path, branch: 'worker/one', status: 'pushed' });
    expect(remote.git('diff', '--name-status', 'main', 'worker/one')).toBe('A\twork.txt');
    expect(remote.git('rev-parse', 'worker/one^', 'main')).toBe(`${base}\n${base}`);
    expect(remote.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\nrefs/heads/worker/one');
    expect(readdirSync(project.root)).toEqual(['.caisson']);
    const types = (await project.events(run.runId)).map(({ type }) => type);
    const flow = [
      'repository.fetched',
      'attempt.launched',
      'dispatch.finished',
      'evidence.sealed',
      'branch.pushed',
    ];
    expect(types.filter((type) => flow.includes(type))).toEqual(flow);
    expect(types).not.toContain('warning');
    expect(listCached(project, 'refs/heads/')).toEqual([]);
    expect((await project.caisson('verify', run.runId)).code).toBe(0);
  });

  it('starts from the branch, tag or commit that is named, also when it was fetched before', async () => {
    const remote = createBareRemote();
    const first = remote.git('rev-parse', 'main');
    remote.git('tag', '-a', '-m', 'first', 'v1', 'main');
    remote.commit({ 'a.txt': 'two\n' });
    const project = createProject();
    const read = async (...options: string[]): Promise<string> => {
      const run = await project.run('--repo', `file://${remote.path}`, ...options, '--', 'cat', 'a.txt');
      expect(run.cli.code).toBe(0);
      return run.stdout;
    };
    expect(await read()).toBe('two\n');
    expect(await read('--base', 'v1')).toBe('one\n');
    expect(await read('--base', first)).toBe('one\n');
    expect(await read('--base', 'refs/heads/main')).toBe('two\n');
    remote.commit({ 'a.txt': 'three\n' });
    expect(await read('--base', 'main')).toBe('three\n');
    const unknown = await project.run('--repo', remote.path, '--base', 'nowhere', '--', 'true');
    expect([unknown.cli.code, unknown.failure?.detail]).toEqual([
      1,
      expect.stringContaining('has no branch, tag or commit "nowhere"'),
    ]);
  });

  it('continues on the branch that it pushed: the remote only grows', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const first = await project.run(...options, '--', 'sh', '-c', 'date +%N >work.txt');
    const before = remote.find('work');
    remote.commit({ 'other.txt': 'meanwhile\n' });
    const again = await project.caisson('retry', first.runId, '-o', 'json');
    expect([again.code, again.stderr]).toEqual([0, expect.not.stringContaining('not pushed')]);
    expect(remote.git('rev-parse', 'work^1', 'work^2')).toBe(`${before}\n${remote.find('main')}`);
    expect(remote.git('ls-tree', '--name-only', 'work')).toBe('a.txt\nother.txt\nwork.txt');
  });
});

describe('a push that fails', { timeout: 120_000 }, () => {
  it('because a hook of the remote says no: the run is done, the branch is kept here, the exit code is 1', async () => {
    const remote = createBareRemote();
    remote.hook('pre-receive', 'echo "no workers here"; exit 1');
    const project = createProject({ git: false });
    const run = await project.run('--repo', remote.path, '--branch', 'work', '--push', ...write('x'));
    expect([run.cli.code, run.status, run.branch?.status]).toEqual([1, 'done', 'created']);
    expect(run.push).toMatchObject({ status: 'failed', reason: 'rejected' });
    expect(run.push?.detail).toContain('pre-receive hook declined');
    expect(run.push?.detail).toContain('no workers here');
    expect(remote.find('work')).toBe(null);
    expect(listCached(project, 'refs/heads/')).toEqual(['refs/heads/work']);
    expect((await project.caisson('show', run.runId)).stdout).toContain('not pushed to');
  });

  it('because the remote got the branch meanwhile: it is not moved, not even forward', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    const before = remote.find('main');
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const script = `echo x >work.txt; git --git-dir=${remote.path} branch work main`;
    const open = ['--sandbox', 'none', '--network', 'full'];
    const run = await project.run(...options, ...open, '--', 'sh', '-c', script);
    expect([run.cli.code, run.status, run.push?.reason]).toEqual([1, 'done', 'taken']);
    expect(remote.find('work')).toBe(before);
    expect(listCached(project, 'refs/heads/')).toEqual(['refs/heads/work']);
  });

  it('because the remote has the branch is refused before anything runs, and names the remedy', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    remote.git('branch', 'work', 'main');
    const options = ['--repo', remote.path, '--branch', 'work'];
    const run = await project.run(...options, '--push', ...write('x'));
    expect([run.cli.code, run.status]).toEqual([1, 'error']);
    expect(run.failure?.detail).toContain(`${remote.path} has a branch work already`);
    expect(run.failure?.detail).toContain('--branch OTHER');
    const types = (await project.events(run.runId)).map(({ type }) => type);
    expect(types).not.toContain('attempt.launched');
    expect(listCached(project, 'refs/caisson/')).toEqual([]);
    expect((await project.run(...options, ...write('x'))).status).toBe('done');
  });

  it('because the remote is gone when the run ends', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
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
    const script = `echo x >work.txt; mv ${remote.path} ${remote.path}.away`;
    const run = await project.run(...options, '--', 'sh', '-c', script);
    expect([run.cli.code, run.status, run.push?.reason]).toEqual([1, 'done', 'not-found']);
    expect(listCached(project, 'refs/heads/')).toEqual(['refs/heads/work']);
  });
});

describe('the patch of a run on a remote', { timeout: 120_000 }, () => {
  it('is applied to the files here only if a person says so', async () => {
    const remote = createBareRemote();
    const project = createProject();
    const run = await project.run('--repo', remote.path, ...write('x'));
    const refused = await project.caisson('apply', run.runId);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain(`Nothing was changed: the run worked on ${remote.path}`);
    expect(refused.stdout).toContain(`caisson apply ${run.runId} --here`);
    expect(existsSync(join(project.root, 'work.txt'))).toBe(false);
    const atOnce = await project.run('--repo', remote.path, '--apply', ...write('x'));
    expect([atOnce.cli.code, atOnce.cli.stderr]).toEqual([
      1,
      expect.stringContaining('Not applied: the run worked on'),
    ]);
    expect(existsSync(join(project.root, 'work.txt'))).toBe(false);
    expect((await project.caisson('apply', run.runId, '--here')).code).toBe(0);
    expect(existsSync(join(project.root, 'work.txt'))).toBe(true);
  });
});

describe('an address', { timeout: 120_000 }, () => {
  it.each([
    ['ext::sh -c touch% /tmp/x', 'names a program of git'],
    ['--upload-pack=touch', 'begins like an option'],
    ['git://127.0.0.1/a.git', 'git:// is not a protocol'],
    ['ssh://-oProxyCommand=touch/a.git', 'has no plain user, host and path'],
    ['-oProxyCommand=touch@host:a', 'begins like an option'],
    ['https://me:s3cret@127.0.0.1/a.git', 'has a name or password in it'],
    ['https://s3cret@127.0.0.1/a.git', 'has a name or password in it'],
    ['https://127.0.0.1/a.git?token=s3cret', 'has a query'],
    ['/nowhere/at/all', 'is not there'],
  ])('%s is refused before there is a run, and a secret in it is not repeated', async (address, why) => {
    const project = createProject({ git: false });
    const refused = await project.caisson('run', `--repo=${address}`, '--', 'true');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(why)]);
    expect(refused.stderr).not.toContain('s3cret');
    expect(existsSync(join(project.root, '.caisson'))).toBe(false);
  });

  it('of a repository with links, hooks and settings of its own runs none of them', async () => {
    const remote = createBareRemote();
    const trap = `touch ${remote.path}.trapped`;
    remote.git('config', 'uploadpack.packObjectsHook', trap);
    remote.git('config', 'core.fsmonitor', trap);
    remote.git('config', 'core.sshCommand', trap);
    symlinkSync('main', join(remote.path, 'refs/heads/linked'));
    const project = createProject({ git: false });
    const run = await project.run('--repo', remote.path, '--base', 'linked', '--', 'cat', 'a.txt');
    expect([run.cli.code, run.stdout]).toEqual([0, 'one\n']);
    expect(existsSync(`${remote.path}.trapped`)).toBe(false);
  });
});

describe('a repository that came with the project', { timeout: 120_000 }, () => {
  it.each(['./tools.git', 'linked', '.'])(
    'is not used when the project names it, because its hooks would run: %s',
    async (url) => {
      const remote = createBareRemote();
      const project = createProject({ config: `git: { url: ${url} }\n`, trusts: false });
      const ran = join(project.root, '../RAN');
      remote.hook('pre-receive', `touch ${ran}`);
      cpSync(remote.path, join(project.root, 'tools.git'), { recursive: true });
      symlinkSync(remote.path, join(project.root, 'linked'));
      expect((await project.caisson('trust')).stdout).toContain('git runs the hooks of a local one');
      await project.trust();
      const words = ['run', '--branch', 'work', '--push'];
      const refused = await project.caisson(...words, '--', 'sh', '-c', 'echo x >work.txt');
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining('a repository inside the project'),
      ]);
      expect(existsSync(ran)).toBe(false);
    },
  );

  it('is used when it is outside, or the user names it', async () => {
    const remote = createBareRemote();
    const project = createProject({ config: `git: { url: ${remote.path} }\n` });
    cpSync(remote.path, join(project.root, 'tools.git'), { recursive: true });
    for (const options of [[], ['--repo', './tools.git']]) {
      const run = await project.run(...options, '--branch', 'work', '--push', '--', 'sh', '-c', 'echo x >a');
      expect([run.cli.code, run.push?.status]).toEqual([0, 'pushed']);
    }
  });
});
