import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import type { PreparedWorkspace } from './index.ts';
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

const git = (...args: string[]): string => gitIn(prepared.path, project.home, ...args);
const headRef = (name: string): string => `refs/caisson/${prepared.runId}/heads/1/${name}`;

function commitOn(branch: string, message: string): void {
  git('switch', '-qc', branch);
  git('commit', '-qm', message, '--allow-empty');
  git('switch', '-q', 'main');
}

function stash(text: string): void {
  writeFileSync(join(prepared.path, 'a.txt'), text);
  git('stash', '-q');
}

/** How the removal marked the folder. */
async function remove(): Promise<string> {
  const removed = await project.workspaces.remove(prepared);
  return removed.kind === 'trashed'
    ? readFileSync(join(removed.path, 'trashed'), 'utf8').trim()
    : removed.kind;
}

it('every entry of the stash is saved', async () => {
  stash('older\n');
  stash('newer\n');

  const saved = await project.workspaces.checkpoint(prepared);

  expect(saved?.heads.toSorted()).toEqual([headRef('branch-1'), headRef('stash')]);
  expect(project.git('show', `${headRef('stash')}:a.txt`)).toBe('newer');
  expect(project.git('show', `${headRef('branch-1')}:a.txt`)).toBe('older');
  expect(saved?.warnings).toEqual([
    `the agent's commits are kept under other names: refs/stash@{1} as ${headRef('branch-1')}`,
  ]);
  expect(await remove()).toBe('saved');
});

it('commits behind odd names, tags and other worktrees are saved, and their names are reported', async () => {
  for (const name of ['fix#12', 'größe']) commitOn(name, `on ${name}`);
  commitOn('tags', 'on tags');
  git('switch', '-q', '--detach');
  git('commit', '-qm', 'tagged', '--allow-empty');
  git('tag', '-a', '-m', 'release', 'v2');
  git('switch', '-q', 'main');
  git('worktree', 'add', '-q', '--detach', 'beside');
  gitIn(join(prepared.path, 'beside'), project.home, 'commit', '-qm', 'beside', '--allow-empty');

  const saved = await project.workspaces.checkpoint(prepared);
  const subjects = saved?.heads.map((ref) => project.git('log', '-1', '--format=%s', ref)).toSorted();

  expect(subjects).toEqual(['beside', 'on fix#12', 'on größe', 'on tags', 'tagged']);
  for (const name of ['branch fix#12', 'branch größe'])
    expect(saved?.warnings).toContainEqual(expect.stringContaining(`${name} as ${headRef('branch-')}`));
  expect((await project.workspaces.checkpoint(prepared))?.warnings).toEqual(saved?.warnings);
  expect(await remove()).toBe('saved');
});

it('a name that is not UTF-8 is no reason to lose the commits', async () => {
  git('commit', '-qm', 'mine', '--allow-empty');
  const place = Buffer.from(`${prepared.attemptDir}/agent-git/refs/heads/gr`);
  writeFileSync(Buffer.concat([place, Buffer.from([0xf6, 0xdf])]), git('rev-parse', 'HEAD'));
  git('update-ref', 'refs/heads/main', 'HEAD~1');

  const saved = await project.workspaces.checkpoint(prepared);

  expect(project.git('log', '-1', '--format=%s', saved?.heads[0] ?? '')).toBe('mine');
});

it('what cannot be saved is named, keeps the workspace, and holds up nothing else', async () => {
  git('commit', '-qm', 'mine', '--allow-empty');
  writeFileSync(join(prepared.attemptDir, 'agent-git/refs/heads/gone'), `${'ab'.repeat(20)}\n`);

  const saved = await project.workspaces.checkpoint(prepared);

  expect(saved?.heads).toEqual([headRef('main')]);
  expect(saved?.warnings).toEqual([
    expect.stringMatching(/^the agent's branch gone \(.+\) could not be saved/),
  ]);
  expect(await remove()).toBe('unsaved');
});

it('more refs than a run makes are named as not saved', async () => {
  const id = project.git('rev-parse', 'HEAD');
  const lines = Array.from({ length: 1010 }, (_, index) => `${id} refs/tags/t${index}\n`);
  writeFileSync(join(prepared.attemptDir, 'agent-git/packed-refs'), lines.join(''), { flag: 'a' });

  const saved = await project.workspaces.checkpoint(prepared);

  expect(saved?.warnings).toEqual([expect.stringContaining('10 more refs than 1000')]);
  expect(await remove()).toBe('unsaved');
}, 60_000);
