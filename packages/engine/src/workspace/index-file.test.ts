/** A git dir from a stranger: its index and attributes are read without a link, a wait or an end. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { createScratchProject, type ScratchProject } from './scratch-project-stage.ts';

const SECRET = 'a key of the user that no run may see\n';

let project: ScratchProject;
let index: string;
beforeEach(() => {
  project = createScratchProject();
  project.write('a.txt', 'one\n');
  project.commit('first');
  index = join(project.root, '.git/index');
});
afterEach(() => project.dispose());

it('an index that is a link is not followed, and its target is not shown to an agent in place', async () => {
  const secret = join(project.root, '.git/secret');
  project.write('.git/secret', SECRET);
  renameSync(index, `${index}.away`);
  symlinkSync(secret, index);
  const prepared = await project.prepare({ kind: 'in-place' });
  const shown = join(prepared.agentGit?.source ?? '', 'index');
  expect(existsSync(shown) && readFileSync(shown, 'utf8').includes(SECRET)).toBe(false);
});

it.each([
  ['a link to another index', () => symlinkSync(`${index}.away`, index)],
  ['a pipe', () => execFileSync('mkfifo', [index])],
  ['endless', () => symlinkSync('/dev/zero', index)],
  [
    'larger than any index',
    () => {
      project.write('.git/index', '');
      truncateSync(index, 600 * 1024 * 1024);
    },
  ],
])('of an index that is %s nothing is used: HEAD names the tracked files', async (_what, plant) => {
  project.write('staged.txt', 'only in the index\n');
  project.write('.gitignore', 'staged.txt\n');
  project.git('add', '-f', 'staged.txt');
  renameSync(index, `${index}.away`);
  plant();
  const prepared = await project.prepare();
  expect(existsSync(join(prepared.path, 'a.txt'))).toBe(true);
  expect(existsSync(join(prepared.path, 'staged.txt'))).toBe(false);
});

it('a split index whose shared half is a link is not used', async () => {
  project.git('update-index', '--split-index');
  const [shared = ''] = execFileSync('sh', ['-c', 'ls .git/sharedindex.*'], {
    cwd: project.root,
    encoding: 'utf8',
  }).split('\n');
  const half = join(project.root, shared);
  renameSync(half, `${half}.away`);
  execFileSync('mkfifo', [half]);
  const prepared = await project.prepare();
  expect(existsSync(join(prepared.path, 'a.txt'))).toBe(true);
});

it.each(['pipe', '/dev/zero'])('attributes that a repository names are not waited for: %s', async (name) => {
  const file = name === 'pipe' ? join(project.root, '.git/pipe') : name;
  if (name === 'pipe') execFileSync('mkfifo', [file]);
  project.git('config', 'core.attributesFile', file);
  const prepared = await project.prepare();
  expect(existsSync(join(prepared.path, 'a.txt'))).toBe(true);
});
