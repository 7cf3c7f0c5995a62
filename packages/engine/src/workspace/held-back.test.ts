import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findRisk, RISKY_PATHS, type RiskyPath } from '@caisson/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';

import type { Checkpoint, PreparedWorkspace } from './index.ts';
import {
  captureProven,
  createScratchProject,
  gitIn,
  writePlannedBranch,
  type ScratchProject,
} from './scratch-project-stage.ts';

let project: ScratchProject;
beforeEach(() => {
  project = createScratchProject();
  project.write('a.txt', 'one\n');
  project.write('package.json', '{ "version": "1.0.0" }\n');
  project.commit('first');
});
afterEach(() => project.dispose());

function put(prepared: PreparedWorkspace, path: string, text = 'x\n'): void {
  mkdirSync(dirname(join(prepared.path, path)), { recursive: true });
  writeFileSync(join(prepared.path, path), text);
}

/** Every entry in a folder of its own, in a spelling that git itself can store. */
const placeOf = (entry: RiskyPath, index: number): string =>
  `e${index}/${entry.path === '.git' ? '.git /config' : entry.path}`;

/** All names that any ref of a mirror of the repository reaches. */
function listMirrored(): string[] {
  const mirror = join(project.base, 'mirror.git');
  project.git('init', '-q', '--bare', mirror);
  project.git('push', '-q', '--mirror', mirror);
  const refs = gitIn(mirror, project.home, 'for-each-ref', '--format=%(refname)').split('\n').filter(Boolean);
  const names = refs.flatMap((ref) => [
    ...gitIn(mirror, project.home, 'ls-tree', '-r', '-z', '--name-only', ref).split('\0'),
    ...(gitIn(mirror, project.home, 'cat-file', '-t', ref).trim() === 'commit'
      ? gitIn(mirror, project.home, 'log', '--format=', '--name-only', '-z', '-m', '--root', ref).split('\0')
      : []),
  ]);
  return [...new Set(names.map((name) => name.trimStart()))].filter(Boolean).toSorted();
}

async function saveWithBranch(prepared: PreparedWorkspace): Promise<Checkpoint | null> {
  const saved = await project.workspaces.checkpoint(prepared);
  await writePlannedBranch(project, prepared, saved);
  return saved;
}

it('of every entry of the table nothing is reached by a push or a checkout, and the bundle has all of it', async () => {
  const prepared = await project.prepare({ branch: 'work' });
  const places = RISKY_PATHS.map(placeOf);
  for (const place of places)
    put(prepared, place, '{ "scripts": { "postinstall": "x", "post-install-cmd": "x" } }');
  put(prepared, 'fine.txt');
  const saved = await project.workspaces.checkpoint(prepared);
  expect(saved?.heldBack?.paths.toSorted()).toEqual(places.toSorted());
  expect(listMirrored()).toEqual(['a.txt', 'fine.txt', 'package.json']);
  expect(project.git('branch', '--list', 'work')).toBe('');
  expect(saved?.warnings.join('\n')).toContain('branch work was not created');
  const file = saved?.heldBack?.file ?? '';
  project.git('fetch', '-q', file, saved?.ref ?? '');
  const complete = project.git('ls-tree', '-r', '-z', '--name-only', 'FETCH_HEAD').split('\0');
  expect(complete).toEqual(expect.arrayContaining([...places, 'fine.txt']));
  // What is printed to get the branch all the same is a line that works, and never has what runs by itself.
  const line = /git fetch (\S+ refs\/heads\/work:refs\/heads\/work)/.exec(
    saved?.warnings.join('\n') ?? '',
  )?.[1];
  project.git('fetch', '-q', ...(line ?? '').split(' '));
  const asked = RISKY_PATHS.flatMap((entry, index) => (entry.grade === 'ask' ? [placeOf(entry, index)] : []));
  expect(
    project.git('diff', '--name-only', '-z', 'main', 'work').split('\0').filter(Boolean).toSorted(),
  ).toEqual([...asked, 'fine.txt'].toSorted());
});

it('what was allowed is on the branch, and what runs by itself is not', async () => {
  const prepared = await project.prepare({ branch: 'work', allowRisky: true });
  for (const path of ['.github/workflows/ci.yml', '.envrc', 'sub/.caisson/ledger.db', 'sub/caisson.yaml'])
    put(prepared, path);
  await saveWithBranch(prepared);
  expect(project.git('diff', '--name-only', 'main', 'work').split('\n').filter(Boolean)).toEqual([
    '.github/workflows/ci.yml',
  ]);
  expect(listMirrored()).toEqual(['.github/workflows/ci.yml', 'a.txt', 'package.json']);
});

it('links that leave the project, and folders that read as .git, are on no ref', async () => {
  const prepared = await project.prepare({ branch: 'work' });
  symlinkSync('/etc', join(prepared.path, 'out'));
  symlinkSync('../..', join(prepared.path, 'up'));
  symlinkSync('a.txt', join(prepared.path, 'inside'));
  for (const name of ['.git ', 'GIT~1', '.g\u200cit', 'sub/.git.']) put(prepared, `${name}/hooks/pre-commit`);
  await saveWithBranch(prepared);
  expect(listMirrored()).toEqual(['a.txt', 'inside', 'package.json']);
  expect(project.git('ls-tree', '--name-only', 'work').split('\n').filter(Boolean)).toEqual([
    'a.txt',
    'inside',
    'package.json',
  ]);
});

it('the folder of core.hooksPath and files that the settings run are on no ref', async () => {
  project.git('config', 'core.hooksPath', '.githooks');
  project.write('.githooks/pre-commit', 'old\n');
  project.commit('hooks');
  const prepared = await project.prepare({ controls: [{ path: 'bin/key.sh', grade: 'never' }] });
  for (const path of ['.githooks/pre-commit', '.githooks/new', 'bin/key.sh', 'bin/other.sh'])
    put(prepared, path);
  const saved = await project.workspaces.checkpoint(prepared);
  expect(saved?.heldBack?.paths.toSorted()).toEqual(['.githooks/new', '.githooks/pre-commit', 'bin/key.sh']);
  expect(project.git('show', `${saved?.ref}:.githooks/pre-commit`)).toBe('old');
});

it('ordinary work has no bundle: versions, dependencies, links inside, files of the user that were there before', async () => {
  project.write('.npmrc', 'the user’s own, not committed\n');
  const prepared = await project.prepare({ branch: 'work', sandboxed: false });
  put(
    prepared,
    'package.json',
    '{ "version": "1.1.0", "dependencies": { "a": "1" }, "scripts": { "test": "x" } }\n',
  );
  put(prepared, 'src/config/hooks/index.ts');
  gitIn(prepared.path, project.home, 'add', '-A');
  gitIn(prepared.path, project.home, 'commit', '-qm', 'mine');
  const saved = await saveWithBranch(prepared);
  expect(saved).toMatchObject({ warnings: [], heads: [`refs/caisson/${prepared.runId}/heads/1/main`] });
  expect(saved?.heldBack).toBeUndefined();
  expect(project.git('show', 'work:src/config/hooks/index.ts')).toBe('x');
});

it('a commit of the agent that ever had a risky file is in the bundle alone, also when a later one removed it', async () => {
  const prepared = await project.prepare({ sandboxed: false });
  const git = (...args: string[]): string => gitIn(prepared.path, project.home, ...args);
  put(prepared, '.github/workflows/ci.yml');
  git('add', '-A');
  git('commit', '-qm', 'with');
  git('rm', '-q', '.github/workflows/ci.yml');
  git('commit', '-qm', 'without');
  const saved = await project.workspaces.checkpoint(prepared);
  expect(saved?.heads).toEqual([]);
  expect(listMirrored()).toEqual(['a.txt', 'package.json']);
  const head = `refs/caisson/${prepared.runId}/heads/1/main`;
  project.git('fetch', '-q', saved?.heldBack?.file ?? '', head);
  expect(project.git('log', '--format=%s', 'FETCH_HEAD')).toBe('without\nwith\nfirst');
});

it('apply asks about what a person must allow, and never brings what runs by itself', async () => {
  const prepared = await project.prepare();
  put(prepared, 'package.json', '{ "version": "1.0.0", "scripts": { "postinstall": "x" } }\n');
  put(prepared, 'fine.txt');
  const { patch } = await captureProven(prepared);
  const options = {
    projectRoot: project.root,
    stateDir: project.stateDir,
    patch,
    baseCommit: null,
    threeWay: true,
  };
  const asked = await project.workspaces.apply(options);
  expect(asked).toMatchObject({ kind: 'risky', files: ['package.json'], isRefused: false });
  expect(project.git('status', '--short')).toBe('');
  expect(await project.workspaces.apply({ ...options, allowRisky: true })).toMatchObject({ kind: 'applied' });
  // A patch from elsewhere, or of an earlier version, is judged like any other.
  const other = await project.prepare();
  put(other, 'sub/.envrc');
  const planted = (await captureProven(other)).patch;
  expect(findRisk('sub/.envrc')?.grade).toBe('never');
  expect(await project.workspaces.apply({ ...options, patch: planted, allowRisky: true })).toMatchObject({
    kind: 'risky',
    files: ['sub/.envrc'],
    isRefused: true,
  });
});
