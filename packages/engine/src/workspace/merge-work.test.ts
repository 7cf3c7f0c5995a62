import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';

import type { FinishedWork, PreparedWorkspace } from './index.ts';
import { captureProven, createScratchProject, type ScratchProject } from './scratch-project-stage.ts';

let project: ScratchProject;
afterEach(() => project.dispose());

const LINES = 'one\ntwo\nthree\nfour\nfive\n';

/** A run that changed, removed and made files, on top of uncommitted files of the user's. */
async function finishWork(
  edit: (at: (path: string) => string) => void = (at) => {
    writeFileSync(at('a.txt'), LINES.replace('one', 'ONE'));
    writeFileSync(at('made.bin'), Buffer.from([0, 255, 10, 13]));
    rmSync(at('old.txt'));
  },
): Promise<FinishedWork> {
  project = createScratchProject();
  project.write('a.txt', LINES);
  project.write('old.txt', 'old\n');
  project.write('run.sh', 'echo\n');
  project.commit('first');
  project.write('mine.txt', 'uncommitted\n');
  const prepared = await project.prepare();
  edit((path) => join(prepared.path, path));
  await project.workspaces.checkpoint(prepared);
  const { patch } = await captureProven(prepared);
  await project.workspaces.remove(prepared);
  const { runId, baselineTree } = prepared;
  return { runId, baselineTree, result: { patch }, isApplied: false };
}

const problemOf = (merge: FinishedWork, kind: 'worktree' | 'in-place' = 'worktree') =>
  project.workspaces.findMergeProblem({
    ...{ kind, projectRoot: project.root, stateDir: project.stateDir, merge },
  });

const fileOf = (prepared: PreparedWorkspace, path: string): string =>
  readFileSync(join(prepared.path, path), 'latin1');

async function listChanged(prepared: PreparedWorkspace): Promise<string[]> {
  return (await captureProven(prepared)).files.map(({ path }) => path).toSorted();
}

it('work and later changes are merged line by line, and the patch fits the present files', async () => {
  const merge = await finishWork();
  project.write('a.txt', LINES.replace('five', 'FIVE'));
  project.write('mine.txt', 'changed since\n');
  project.write('new.txt', 'mine too\n');
  const before = project.snapshot();
  expect(await problemOf(merge)).toBeNull();
  expect(project.snapshot()).toEqual(before);
  expect(readdirSync(join(project.stateDir, 'tmp')).filter((name) => name !== 'apply.lock')).toEqual([]);
  const prepared = await project.prepare({ merge });
  expect(fileOf(prepared, 'a.txt')).toBe('ONE\ntwo\nthree\nfour\nFIVE\n');
  expect(fileOf(prepared, 'made.bin')).toBe('\x00\xff\n\r');
  expect([fileOf(prepared, 'mine.txt'), fileOf(prepared, 'new.txt')]).toEqual([
    'changed since\n',
    'mine too\n',
  ]);
  expect(existsSync(join(prepared.path, 'old.txt'))).toBe(false);
  expect(prepared.changedSince).toEqual(['a.txt', 'mine.txt', 'new.txt']);
  writeFileSync(join(prepared.path, 'more.txt'), 'more\n');
  expect(await listChanged(prepared)).toEqual(['a.txt', 'made.bin', 'more.txt', 'old.txt']);
  const { patch } = await captureProven(prepared);
  const given = { projectRoot: project.root, stateDir: project.stateDir, patch, threeWay: false };
  expect((await project.workspaces.apply({ ...given, baseCommit: prepared.baseCommit })).kind).toBe(
    'applied',
  );
  expect([project.read('a.txt'), project.read('more.txt')]).toEqual([fileOf(prepared, 'a.txt'), 'more\n']);
});

it('work that a person took over is where both begin: their changes to the same lines count', async () => {
  const merge = await finishWork();
  project.write('a.txt', LINES.replace('one', 'mine'));
  expect(await problemOf(merge)).toEqual({ kind: 'conflicts', files: ['a.txt'] });
  const prepared = await project.prepare({ merge: { ...merge, isApplied: true } });
  expect(fileOf(prepared, 'a.txt')).toBe(LINES.replace('one', 'mine'));
  expect(prepared.changedSince).toContain('a.txt');
  expect(await listChanged(prepared)).toEqual([]);
});

it('work that was taken over is not in a commit that is asked for', async () => {
  const merge = { ...(await finishWork()), isApplied: true };
  const prepared = await project.prepare({ merge, baseRef: 'HEAD' });
  expect(fileOf(prepared, 'a.txt')).toBe(LINES.replace('one', 'ONE'));
  expect(await listChanged(prepared)).toEqual(['a.txt', 'made.bin', 'old.txt']);
});

it('the same change on both sides is no conflict, and is not in the patch again', async () => {
  const merge = await finishWork();
  project.write('a.txt', LINES.replace('one', 'ONE'));
  project.write('made.bin', Buffer.from([0, 255, 10, 13]));
  rmSync(join(project.root, 'old.txt'));
  const prepared = await project.prepare({ merge });
  expect(await listChanged(prepared)).toEqual([]);
  expect(await problemOf(merge, 'in-place')).toBeNull();
});

it('what cannot be merged is named: lines, removed files, other contents, links, folders', async () => {
  const merge = await finishWork((at) => {
    writeFileSync(at('a.txt'), LINES.replace('one', 'ONE'));
    writeFileSync(at('made.bin'), Buffer.from([0, 1]));
    rmSync(at('old.txt'));
    chmodSync(at('run.sh'), 0o755);
    symlinkSync('a.txt', at('link'));
    writeFileSync(at('place'), 'a file\n');
  });
  project.write('a.txt', LINES.replace('one', 'uno'));
  project.write('made.bin', Buffer.from([0, 2]));
  project.write('old.txt', 'changed\n');
  project.write('run.sh', 'echo more\n');
  project.write('link', 'no link\n');
  project.write('place/inner.txt', 'a folder\n');
  const conflicts = await problemOf(merge);
  expect(conflicts).toMatchObject({ kind: 'conflicts' });
  expect(conflicts?.kind === 'conflicts' && conflicts.files.toSorted()).toEqual([
    ...['a.txt', 'link', 'made.bin', 'old.txt', 'place', 'place/inner.txt'],
  ]);
  const before = project.snapshot();
  await expect(project.prepare({ merge })).rejects.toThrow('conflict in: a.txt, link, made.bin, old.txt');
  expect(readdirSync(join(project.stateDir, 'worktrees')).length).toBe(0);
  expect(project.snapshot()).toEqual(before);
});

it('a mode of one side and lines of the other are both kept', async () => {
  const merge = await finishWork((at) => chmodSync(at('run.sh'), 0o755));
  project.write('run.sh', 'echo more\n');
  const prepared = await project.prepare({ merge });
  expect(fileOf(prepared, 'run.sh')).toBe('echo more\n');
  expect(statSync(join(prepared.path, 'run.sh')).mode & 0o111).not.toBe(0);
});

it('a checkpoint serves without a patch; what is gone is reported, and nothing begins without it', async () => {
  const merge = await finishWork();
  const tree = project.git('rev-parse', `refs/caisson/${merge.runId}/1^{tree}`).trim();
  const prepared = await project.prepare({ merge: { ...merge, result: { tree } } });
  expect(fileOf(prepared, 'a.txt')).toBe(LINES.replace('one', 'ONE'));
  const gone = { ...merge, baselineTree: 'f'.repeat(40) };
  expect(await problemOf(gone)).toEqual({ kind: 'gone' });
  await expect(project.prepare({ merge: gone })).rejects.toThrow(`the work of ${merge.runId} is gone`);
  expect(await problemOf(merge, 'in-place')).toEqual({ kind: 'elsewhere' });
});
