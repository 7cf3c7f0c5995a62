/** Commits that an agent makes in a repository of its own inside the workspace. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import type { PreparedWorkspace } from './index.ts';
import { heldBackPlace } from './held-back.ts';
import { createScratchProject, gitIn, type ScratchProject } from './scratch-project-stage.ts';

let project: ScratchProject;
let prepared: PreparedWorkspace;
beforeEach(async () => {
  project = createScratchProject();
  project.write('a.txt', 'one\n');
  project.commit('first');
  prepared = await project.prepare({ sandboxed: false });
});
afterEach(() => project.dispose());

const git = (...args: string[]): string => gitIn(join(prepared.path, 'sub'), project.home, ...args);

function makeNested(): void {
  mkdirSync(join(prepared.path, 'sub'));
  git('init', '-q', '-b', 'work');
  writeFileSync(join(prepared.path, 'sub/file'), 'nested\n');
  git('add', '.');
  git('commit', '-qm', 'one');
}

/** What a person gets from the bundle, as `ref subject`. */
function clone(bundle: string): string[] {
  const target = join(project.base, 'cloned');
  gitIn(project.base, project.home, 'clone', '-q', bundle, target);
  const refs = gitIn(target, project.home, 'for-each-ref', '--format=%(refname) %(subject)');
  return refs.split('\n').filter((line) => /^refs\/(remotes\/origin\/(?!HEAD)|tags\/)/.test(line));
}

it('a file of the agent cannot take the place of the bundle, and is not taken for one', async () => {
  makeNested();
  writeFileSync(join(prepared.path, '.gitignore'), '*.bundle\n');
  writeFileSync(join(prepared.path, 'nested-1.bundle'), 'of the agent\n');

  const saved = await project.workspaces.checkpoint(prepared);
  await project.workspaces.remove(prepared);

  const place = heldBackPlace(prepared);
  expect(saved?.beside?.map(({ get }) => get)).toEqual([
    `cp -r ${place}/nested-1.bundle .`,
    `git clone ${place}.nested-1.bundle`,
  ]);
  expect(readdirSync(place)).toEqual(['nested-1.bundle']);
  expect(readFileSync(join(place, 'nested-1.bundle'), 'utf8')).toBe('of the agent\n');
  expect(clone(`${place}.nested-1.bundle`)).toEqual(['refs/remotes/origin/work one']);

  const gc = { stateDir: project.stateDir, trashTtlMs: 0 };
  expect((await project.workspaces.gc(gc)).kept).toEqual([place, `${place}.nested-1.bundle`]);
  await project.workspaces.forget({
    ...{ stateDir: project.stateDir, projectRoot: project.root, runId: prepared.runId },
  });
  expect([place, `${place}.nested-1.bundle`].map((path) => existsSync(path))).toEqual([false, false]);
});
