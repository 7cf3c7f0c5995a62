/** Our refs name trees: the user's history does not show them, and their git keeps what they name. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { createScratchProject, type ScratchProject } from './scratch-project-stage.ts';

let project: ScratchProject;
beforeEach(() => {
  project = createScratchProject();
  project.write('a.txt', 'one\n');
  project.commit('first');
});
afterEach(() => project.dispose());

const listRefs = (): string =>
  project.git('for-each-ref', '--format=%(objecttype) %(refname:lstrip=3)', 'refs/caisson');

it('git log --all does not show them, git fsck accepts them, and git gc keeps all of their files', async () => {
  project.write('mine.txt', 'uncommitted\n');
  const prepared = await project.prepare();
  project.git('gc', '-q', '--prune=now');
  writeFileSync(join(prepared.path, 'made.txt'), 'made\n');
  const saved = await project.workspaces.checkpoint(prepared);
  expect(listRefs()).toBe('tree 1\ntree base/1');
  project.git('gc', '-q', '--prune=now');
  project.git('repack', '-adq');
  expect(project.git('log', '--all', '--format=%s')).toBe('first');
  expect(project.git('fsck', '--full', '--strict', '--no-dangling')).toBe('');
  expect(project.git('show', `${saved?.ref}:made.txt`)).toBe('made');
  expect(project.git('show', `refs/caisson/${prepared.runId}/base/1:mine.txt`)).toBe('uncommitted');
  expect(project.git('ls-files')).toBe('a.txt'); // the user's own index
  expect(await project.workspaces.findCheckpoint(prepared)).toMatchObject({ tree: saved?.tree });
});

it('refs of the version before name commits: they are found, listed, and deleted with their run', async () => {
  const prepared = await project.prepare();
  writeFileSync(join(prepared.path, 'made.txt'), 'made\n');
  const saved = await project.workspaces.checkpoint(prepared);
  const commit = project.git('commit-tree', saved?.tree ?? '', '-p', 'HEAD', '-m', 'caisson: old');
  for (const name of ['1', 'base/1'])
    project.git('update-ref', `refs/caisson/${prepared.runId}/${name}`, commit);
  const scope = { projectRoot: project.root, stateDir: project.stateDir };
  expect(listRefs()).toBe('commit 1\ncommit base/1');
  expect(await project.workspaces.findCheckpoint(prepared)).toMatchObject({ tree: saved?.tree });
  expect(await project.workspaces.listSavedChanges(prepared)).toEqual(['made.txt']);
  const { refs } = await project.workspaces.inspect(scope);
  const found = await Array.fromAsync(refs());
  expect(found.map(({ problem }) => problem)).toEqual([null, null]);
  expect(await project.workspaces.measureRefs(scope)).toMatchObject({ refs: 2 });
  await project.workspaces.forget({ ...scope, runId: prepared.runId });
  expect(listRefs()).toBe('');
  project.git('gc', '-q', '--prune=now');
  expect(() => project.git('cat-file', '-e', saved?.tree ?? '')).toThrow();
});

it('measures what only our refs keep', async () => {
  const scope = { projectRoot: project.root };
  expect(await project.workspaces.measureRefs(scope)).toMatchObject({ refs: 0, bytes: 0 });
  const prepared = await project.prepare();
  writeFileSync(join(prepared.path, 'made.bin'), randomBytes(50_000));
  await project.workspaces.checkpoint(prepared);
  const { bytes } = (await project.workspaces.measureRefs(scope)) ?? {};
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(60_000);
});

it('objects in our own repository, for a folder without git, go when no ref names them', async () => {
  const bare = createScratchProject({ git: false });
  try {
    bare.write('mine.txt', 'x');
    const prepared = await bare.prepare({ kind: 'in-place' });
    bare.write('made.txt', 'made');
    await bare.workspaces.checkpoint(prepared);
    const { stateDir } = bare;
    const objects = join(stateDir, 'git/objects');
    const count = (): number =>
      readdirSync(objects, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
    const before = count();
    await bare.workspaces.pruneOwn({ stateDir, olderThanMs: 0 });
    expect(count()).toBe(before);
    await bare.workspaces.forget({ projectRoot: bare.root, stateDir, runId: prepared.runId });
    await bare.workspaces.pruneOwn({ stateDir, olderThanMs: 60_000 });
    expect(count()).toBe(before);
    await bare.workspaces.pruneOwn({ stateDir, olderThanMs: -2000 });
    expect([count(), existsSync(objects)]).toEqual([0, true]);
  } finally {
    bare.dispose();
  }
});
