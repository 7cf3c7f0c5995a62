/** Commits that an agent makes in a repository of its own inside the workspace. */
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import type { PreparedWorkspace } from './index.ts';
import { heldBackPlace } from './held-back.ts';
import { hasUnsavedNested, saveNestedHistory } from './nested-history.ts';
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

/** How the removal marked the folder. */
async function remove(): Promise<string> {
  const removed = await project.workspaces.remove(prepared);
  return removed.kind === 'trashed'
    ? readFileSync(join(removed.path, 'trashed'), 'utf8').trim()
    : removed.kind;
}

const bundle = (count = 1): string => `${heldBackPlace(prepared)}.nested-${count}.bundle`;
const commit = (subject: string): string => git('commit', '-qm', subject, '--allow-empty');

it('a detached HEAD, tags, every entry of the stash and odd branches are in the bundle', async () => {
  makeNested();
  git('switch', '-q', '--detach');
  commit('tagged');
  git('tag', '-a', '-m', 'release', 'v1');
  git('switch', '-qc', 'für', 'work');
  commit('odd');
  for (const text of ['older', 'newer']) {
    writeFileSync(join(prepared.path, 'sub/file'), text);
    git('stash', 'push', '-qm', text);
  }
  git('switch', '-q', '--detach', 'work');
  commit('detached');

  const saved = await project.workspaces.checkpoint(prepared);

  expect(clone(bundle()).toSorted()).toEqual([
    'refs/remotes/origin/branch-1 On für: older',
    'refs/remotes/origin/branch-2 odd',
    'refs/remotes/origin/detached-head detached',
    'refs/remotes/origin/stash On für: newer',
    'refs/remotes/origin/work one',
    'refs/tags/v1 tagged',
  ]);
  expect(gitIn(join(project.base, 'cloned'), project.home, 'log', '-1', '--format=%s')).toBe('detached');
  expect(saved?.warnings).toEqual([
    'the commits made in sub are kept under other names: refs/stash@{1} as branch-1, branch für as branch-2',
  ]);
  expect(await remove()).toBe('saved');
});

it('a repository with only a tag is saved, and can be cloned', async () => {
  makeNested();
  git('tag', 'v1');
  git('update-ref', '-d', 'refs/heads/work');

  await project.workspaces.checkpoint(prepared);

  expect(clone(bundle())).toEqual(['refs/tags/v1 one']);
});

it('a later clean-up keeps the bundle, also beside a repository that was made since', async () => {
  makeNested();
  await project.workspaces.checkpoint(prepared, { clean: (text) => text });
  const first = readFileSync(bundle());
  const other = join(prepared.path, 'another');
  gitIn(prepared.path, project.home, 'clone', '-q', 'sub', other);

  const saved = await project.workspaces.checkpoint(prepared);

  expect(readFileSync(bundle())).toEqual(first);
  const lines = [bundle(), bundle(2)].map((file) => `git clone ${file}`);
  expect(saved?.beside?.map(({ get }) => get).toSorted()).toEqual(lines);
  expect(await remove()).toBe('saved');
});

const UNSAVED: Record<string, { make: () => void; why: RegExp }> = {
  'whose .git is a file': {
    make: () => git('init', '-q', '--separate-git-dir', join(project.base, 'elsewhere')),
    why: /the commits made in sub, .* were not saved: its \.git is not a folder/,
  },
  'that borrows objects': {
    make: () => writeFileSync(join(prepared.path, 'sub/.git/objects/info/alternates'), '/elsewhere\n'),
    why: /were not saved: its object store borrows/,
  },
  'with more refs than a run makes': {
    make: () => {
      const id = git('rev-parse', 'HEAD');
      const lines = Array.from({ length: 1010 }, (_, index) => `${id} refs/tags/t${index}\n`);
      writeFileSync(join(prepared.path, 'sub/.git/packed-refs'), lines.join(''));
    },
    why: /some of the commits made in sub were not saved: 11 more refs than 1000/,
  },
  'with a ref that names no commit': {
    make: () => writeFileSync(join(prepared.path, 'sub/.git/refs/heads/gone'), `${'ab'.repeat(20)}\n`),
    why: /some of the commits made in sub were not saved: refs\/heads\/gone names no commit/,
  },
  'whose refs are in another format': {
    make: () => mkdirSync(join(prepared.path, 'sub/.git/reftable')),
    why: /some of the commits made in sub were not saved: refs in the reftable format/,
  },
  'whose bundle cannot be put into its place': {
    make: () => mkdirSync(join(bundle(), 'taken'), { recursive: true }),
    why: /were not saved: .*(EISDIR|ENOTEMPTY)/,
  },
};

it.each(Object.entries(UNSAVED))(
  'a repository %s is named, and keeps the workspace',
  async (_, { make, why }) => {
    makeNested();
    make();

    const saved = await project.workspaces.checkpoint(prepared);

    expect(saved?.warnings).toEqual([expect.stringMatching(why)]);
    expect(saved?.warnings[0]).toContain('the removed workspace is kept for it');
    expect(await remove()).toBe('unsaved');
  },
);

it('commits made after the checkpoint keep the workspace', async () => {
  makeNested();
  await project.workspaces.checkpoint(prepared);
  commit('later');
  expect(await remove()).toBe('unsaved');
});

it('bundles larger than limits.capture together are not kept, and the workspace is', async () => {
  prepared = await project.prepare({
    ...{ sandboxed: false, attempt: 2, limits: { maxFileBytes: 1_000_000, maxTotalBytes: 50_000 } },
  });
  makeNested();
  writeFileSync(join(prepared.path, 'sub/large'), randomBytes(30_000));
  git('add', '.');
  commit('large');
  git('rm', '-q', 'large');
  commit('removed');
  gitIn(prepared.path, project.home, 'clone', '-q', '--no-hardlinks', 'sub', join(prepared.path, 'twin'));

  const saved = await project.workspaces.checkpoint(prepared);

  expect(saved?.beside?.map(({ get }) => get)).toEqual([`git clone ${bundle()}`]);
  expect(saved?.warnings).toEqual([
    expect.stringMatching(/^the commits made in twin, .* wrote more than \d+ bytes.* is kept for it/),
  ]);
  expect(await remove()).toBe('unsaved');
});

it('bundles that take too long together are not kept, and the workspace is', async () => {
  makeNested();
  const { saved, warnings } = await saveNestedHistory(prepared, ['sub'], null, AbortSignal.abort());
  expect([saved, warnings]).toEqual([[], [expect.stringContaining('was aborted')]]);
  expect(await hasUnsavedNested(prepared, ['sub'])).toBe(true);
});

it('other worktrees of a repository are saved with it', async () => {
  makeNested();
  const beside = join(prepared.path, 'beside');
  git('worktree', 'add', '-q', '--detach', beside);
  gitIn(beside, project.home, 'commit', '-qm', 'beside', '--allow-empty');

  const saved = await project.workspaces.checkpoint(prepared);

  expect(saved?.warnings).toEqual([]);
  expect(clone(bundle())).toContainEqual('refs/remotes/origin/worktrees/beside/HEAD beside');
  expect(await remove()).toBe('saved');
});

it('a repository that became a link to another one is not read through it', async () => {
  makeNested();
  await project.workspaces.checkpoint(prepared);
  renameSync(join(prepared.path, 'sub'), join(project.base, 'outside'));
  symlinkSync(join(project.base, 'outside'), join(prepared.path, 'sub'));
  expect((await project.workspaces.checkpoint(prepared))?.beside).toBeUndefined();
});
