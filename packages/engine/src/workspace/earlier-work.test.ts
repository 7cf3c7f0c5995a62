import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markPrepared } from '@caisson/ground';
import { afterEach, expect, it } from 'vitest';

import type { EarlierWork, PreparedWorkspace } from './index.ts';
import { captureProven, createScratchProject, type ScratchProject } from './scratch-project-stage.ts';

let project: ScratchProject;
afterEach(() => project.dispose());

/** A run with uncommitted files of the user's under it that changed one file, removed one and made one. */
async function createEarlierWork(): Promise<EarlierWork> {
  project = createScratchProject();
  project.write('a.txt', 'one\n');
  project.write('gone.txt', 'gone\n');
  project.commit('first');
  project.write('mine.txt', 'uncommitted\n');
  const prepared = await project.prepare();
  writeFileSync(join(prepared.path, 'a.txt'), 'two\n');
  writeFileSync(join(prepared.path, 'made.bin'), Buffer.from([0, 255, 10, 13]));
  await project.workspaces.checkpoint(prepared);
  const { patch } = await captureProven(prepared);
  await project.workspaces.remove(prepared);
  const { runId, baselineTree, baseCommit, baselineCommit } = prepared;
  return { runId, baselineTree, baseCommit, baselineCommit, patch };
}

const fileOf = (prepared: PreparedWorkspace, path: string): string =>
  readFileSync(join(prepared.path, path), 'latin1');

it('a continued workspace begins with the earlier work, and its patch holds both', async () => {
  const work = await createEarlierWork();
  project.write('mine.txt', 'changed since\n');
  const prepared = await project.prepare({ work });
  expect(fileOf(prepared, 'a.txt')).toBe('two\n');
  expect(fileOf(prepared, 'made.bin')).toBe('\x00\xff\n\r');
  expect(fileOf(prepared, 'mine.txt')).toBe('uncommitted\n');
  expect(prepared).toMatchObject({ baselineTree: work.baselineTree, baseCommit: work.baseCommit });
  expect((await captureProven(prepared)).patch.toString('latin1')).toBe(work.patch.toString('latin1'));
  writeFileSync(join(prepared.path, 'more.txt'), 'more\n');
  const { files } = await captureProven(prepared);
  expect(files.map(({ path }) => path).toSorted()).toEqual(['a.txt', 'made.bin', 'more.txt']);
  await project.workspaces.checkpoint(prepared);
  expect(project.git('rev-parse', `refs/caisson/${prepared.runId}/base/1`).trim()).toBe(work.baselineTree);
});

it('work of the version before, whose baseline was a commit, goes on without that commit', async () => {
  const work = await createEarlierWork();
  const old = project.git('commit-tree', work.baselineTree, '-p', 'HEAD', '-m', 'files before').trim();
  const prepared = await project.prepare({ work: { ...work, baselineCommit: old }, branch: 'work' });
  project.git('update-ref', '-d', `refs/caisson/${work.runId}/base/1`);
  project.git('gc', '-q', '--prune=now');
  expect(() => project.git('cat-file', '-e', old)).toThrow();
  const saved = await project.workspaces.checkpoint(prepared);
  expect(project.git('show', `${saved?.branch?.commit}:a.txt`).trim()).toBe('two');
  expect(project.git('show', `${saved?.branch?.commit}^:mine.txt`).trim()).toBe('uncommitted');
});

it('what is laid over a continued workspace is not taken for the earlier work, nor the other way round', async () => {
  const work = await createEarlierWork();
  const prepared = await project.prepare({ work });
  writeFileSync(join(prepared.path, 'skill.md'), 'laid\n');
  await markPrepared({ ...prepared, workspace: prepared.path });
  writeFileSync(join(prepared.path, 'more.txt'), 'more\n');
  const { files } = await captureProven(prepared);
  expect(files.map(({ path }) => path).toSorted()).toEqual(['a.txt', 'made.bin', 'more.txt']);
});

it('the patch of the last run of a chain is applied once and gives everything', async () => {
  const work = await createEarlierWork();
  const second = await project.prepare({ work });
  writeFileSync(join(second.path, 'more.txt'), 'more\n');
  const { patch } = await captureProven(second);
  const { projectRoot, baseCommit } = second;
  const applied = await project.workspaces.apply({
    projectRoot,
    stateDir: project.stateDir,
    patch,
    baseCommit,
    threeWay: true,
  });
  expect(applied.kind).toBe('applied');
  expect([project.read('a.txt'), project.read('more.txt')]).toEqual(['two\n', 'more\n']);
});

it('work that is gone is said, and the run begins with the present files', async () => {
  const work = await createEarlierWork();
  const prepared = await project.prepare({ work: { ...work, baselineTree: 'f'.repeat(40) } });
  expect(prepared.startTree).toBeUndefined();
  expect(prepared.warnings.join('\n')).toContain(`the work of ${work.runId} is gone`);
  expect([fileOf(prepared, 'a.txt'), existsSync(join(prepared.path, 'made.bin'))]).toEqual(['one\n', false]);
  expect((await captureProven(prepared)).empty).toBe(true);
});

it('an empty workspace goes on as well', async () => {
  project = createScratchProject({ git: false });
  const first = await project.prepare({ kind: 'empty' });
  writeFileSync(join(first.path, 'made.txt'), 'made\n');
  const { runId, baselineTree, baseCommit, baselineCommit } = first;
  const { patch } = await captureProven(first);
  const work = { runId, baselineTree, baseCommit, baselineCommit, patch };
  const second = await project.prepare({ kind: 'empty', work });
  expect(fileOf(second, 'made.txt')).toBe('made\n');
  expect((await captureProven(second)).patch.equals(patch)).toBe(true);
});
