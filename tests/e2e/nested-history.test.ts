/** What an agent commits in a repository of its own, inside the workspace, outlives the workspace. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject } from './project.ts';

const COMMIT = 'git -c user.name=A -c user.email=a@example.invalid commit -qm';

it('commits in a nested repository are kept as a bundle, which the ending names', async () => {
  const project = createProject();
  const script = `git init -q -b work "sub; x"; cd "sub; x"; echo 1 >a; git add .; ${COMMIT} one; echo 2 >a; ${COMMIT} two -a`;
  const { runId } = await project.run('--', 'sh', '-c', script);
  const { stdout } = await project.caisson('show', runId);
  const bundle = join(project.root, '.caisson/held-back', `${runId}.1.nested-1.bundle`);
  expect(stdout).toContain('the commits made in sub; x, a repository of its own');
  expect(stdout).toContain(`git clone ${bundle}`);
  project.git('clone', '-q', bundle, '../cloned');
  const cloned = join(project.root, '../cloned');
  const log = execFileSync('git', ['-C', cloned, 'log', '--format=%s', 'work'], { encoding: 'utf8' });
  expect(log).toBe('two\none\n');
}, 60_000);

it('one that borrows objects of another repository is not read, and that is said', async () => {
  const project = createProject();
  const script = `git init -q sub; cd sub; echo 1 >a; git add .; ${COMMIT} one; echo ${project.root}/.git/objects >.git/objects/info/alternates`;
  const { runId } = await project.run('--', 'sh', '-c', script);
  const warnings = (await project.events(runId)).filter(({ type }) => type === 'warning');
  expect(JSON.stringify(warnings)).toMatch(
    /the commits made in sub, [^"]* were not saved: its object store borrows/,
  );
}, 60_000);
