/** The commands that a run on a remote repository gives its user: each is tried as it stands. */
import { execFileSync } from 'node:child_process';
import type { WireEvent } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { createBareRemote } from './bare-remote.ts';
import { createProject, type Project } from './project.ts';

/** Types a command into the shell of the user, in the folder of the project. */
function type({ root, env }: Project, command: string | undefined): void {
  execFileSync('sh', ['-c', command ?? 'false'], { cwd: root, env, stdio: 'pipe' });
}

const messagesOf = (events: readonly WireEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'warning' ? [String(event['message'])] : []));

describe('the advice for a branch of a remote that was not made', { timeout: 120_000 }, () => {
  it('because of files outside the scope pushes it all the same', async () => {
    const remote = createBareRemote();
    const project = createProject();
    const options = ['--repo', remote.path, '--branch', 'work', '--push', '--scope', 'src'];
    const run = await project.run(...options, '--', 'sh', '-c', 'echo x >work.txt');
    expect([run.cli.code, run.branch?.status, remote.find('work')]).toEqual([1, 'held', null]);
    type(project, run.branch?.detail?.split('create it all the same: ')[1]);
    expect(remote.find('work')).toBe(run.branch?.commit);
    expect(remote.git('show', 'work:work.txt')).toBe('x');
  });

  it('because of risky files takes them out of the bundle and pushes them', async () => {
    const remote = createBareRemote();
    const project = createProject();
    const options = ['--repo', remote.path, '--branch', 'work', '--push'];
    const script = 'mkdir -p .github/workflows; echo x >.github/workflows/ci.yml';
    const run = await project.run(...options, '--', 'sh', '-c', script);
    expect([run.cli.code, run.branch?.status, remote.find('work')]).toEqual([1, 'held', null]);
    const [warning] = messagesOf(await project.events(run.runId)).filter((text) =>
      text.startsWith('branch work was not created'),
    );
    type(project, /, then: (.*) \(--allow-risky/.exec(warning ?? '')?.[1]);
    expect(remote.git('show', 'work:.github/workflows/ci.yml')).toBe('x');
  });

  it('because its name was taken meanwhile pushes it under another one', async () => {
    const remote = createBareRemote();
    const project = createProject();
    const options = ['--repo', remote.path, '--branch', 'work', '--sandbox', 'none', '--network', 'full'];
    const caches = `${project.root}/.caisson/remotes`;
    const script = `echo x >work.txt; git --git-dir="$(echo ${caches}/*)" branch work ${remote.find('main') ?? ''}`;
    const run = await project.run(...options, '--', 'sh', '-c', script);
    expect([run.cli.code, run.branch?.status]).toEqual([1, 'taken']);
    type(project, run.branch?.detail?.split(/refs\/caisson\/\S+: /)[1]?.replace('OTHER-NAME', 'other'));
    expect(remote.git('show', 'other:work.txt')).toBe('x');
  });
});

it('the commits that an agent left beside its branch can be merged', { timeout: 60_000 }, async () => {
  const remote = createBareRemote();
  const project = createProject({ git: false });
  const author = 'git -c user.name=A -c user.email=a@example.invalid';
  const script = `echo x >mine.txt; git add .; ${author} commit -qm mine; git branch side; git reset -q --hard HEAD~1`;
  const run = await project.run('--repo', remote.path, '--branch', 'work', '--', 'sh', '-c', script);
  const get = run.beside?.find(({ what }) => what.includes('side'))?.get;
  expect(get).toBeDefined();
  const clone = createProject({ at: remote.clone('rev-parse', '--show-toplevel') });
  type(clone, get);
  expect(remote.clone('show', 'HEAD:mine.txt')).toBe('x');
});
