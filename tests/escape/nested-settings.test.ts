/** A repository that an agent makes has settings that name programs. The host's git never reads them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, type Project } from '../e2e/project.ts';

/** Commits in the repository `name`, and then lets its settings name a program for every file of it. */
const plant = (name: string, proof: string): string => `
  git init -q "${name}"; cd "${name}"; git config user.email a@b; git config user.name x
  echo '* filter=evil' >.gitattributes; echo kept >n; git add .; git commit -qm n
  git config filter.evil.clean 'touch ${proof}; cat'; git config filter.evil.process 'touch ${proof}'
  touch n; cd ..`;

/** In the folder of the project, where a program inside could not write either. */
const proofOf = (project: Project): string => join(project.root, '..', 'proof');

it.each(['worktree', 'in-place'])(
  'a name that is not UTF-8 changes nothing of that (%s)',
  async (workspace) => {
    const project = createProject();
    const proof = proofOf(project);
    project.write('plant.sh', `N=$(printf 'n\\233'); ${plant('$N', proof)}`);
    project.git('add', '-A');
    project.git('commit', '-qm', 'plant');
    const { runId, status } = await project.run('--workspace', workspace, '--', 'sh', 'plant.sh');
    expect(status).toBe('done');
    expect(existsSync(proof)).toBe(false);
    // The work in it is there, as of any other repository.
    expect((await project.caisson('diff', runId)).stdout).toMatch(/\+kept/);
    await project.run('--workspace', workspace, '--', 'true');
    expect(existsSync(proof)).toBe(false);
  },
  60_000,
);

it('nor does a submodule that was empty when the run began', async () => {
  const project = createProject();
  const proof = proofOf(project);
  const head = project.git('rev-parse', 'HEAD').trim();
  project.write('.gitmodules', '[submodule "sub"]\n\tpath = sub\n\turl = https://example.invalid/x\n');
  project.write('plant.sh', `${plant('sub', proof)}; echo ${head} >sub/.git/HEAD; sleep 1; touch sub/n`);
  project.git('add', '-A');
  project.git('update-index', '--add', '--cacheinfo', `160000,${head},sub`);
  project.git('commit', '-qm', 'plant');
  const { runId, status } = await project.run('--', 'sh', 'plant.sh');
  expect(existsSync(proof)).toBe(false);
  expect(status).toBe('done');
  expect((await project.caisson('diff', runId)).stdout).toMatch(/\+kept/);
}, 60_000);
