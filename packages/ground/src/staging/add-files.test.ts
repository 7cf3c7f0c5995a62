import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { createOwnGitDir, EMPTY_TREE } from '../index.ts';
import { stageWorkspace } from './stage-workspace.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'caisson-add-'));
  await mkdir(join(root, 'files'));
  await createOwnGitDir({ path: join(root, 'git'), objectFormat: 'sha1' });
});
afterEach(async () => await rm(root, { recursive: true, force: true }));

const stage = (exclude: readonly string[] = []) =>
  stageWorkspace({
    workspace: join(root, 'files'),
    gitDir: join(root, 'git'),
    exclude,
    like: EMPTY_TREE.sha1,
  });

it('a file that was read and cannot be stored is an error, never a file that is left out', async () => {
  await writeFile(join(root, 'files/work'), 'the work\n');
  // Root can read every file of another user: a folder that is not one refuses all users.
  for (let first = 0; first < 256; first += 1)
    await writeFile(join(root, 'git/objects', first.toString(16).padStart(2, '0')), '');
  await expect(stage()).rejects.toThrow(/git add could not store what it read: .*work: failed to insert/);
});

it('an excluded path that is behind a link now does not keep the rest from being staged', async () => {
  await mkdir(join(root, 'files/packages/b/node_modules'), { recursive: true });
  await writeFile(join(root, 'files/packages/b/node_modules/dep.js'), 'kept, it is not the excluded one\n');
  await symlink('b', join(root, 'files/packages/a'));
  const all = await stage();
  await writeFile(join(root, 'files/packages/b/work'), 'the work\n');
  const { tree, warnings } = await stage(['packages/a/node_modules', 'packages/a/deep/er']);
  expect(tree).not.toBe(all.tree);
  expect(warnings).toEqual([]);
});
