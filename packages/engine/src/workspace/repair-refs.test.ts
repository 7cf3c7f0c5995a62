import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import type { RefRepair } from './index.ts';
import { createScratchProject, type ScratchProject } from './scratch-project-stage.ts';

const REF = 'refs/caisson/run_00000000000000000001/1';

function stage(): { project: ScratchProject; commit: string; write(path: string, text: string): string } {
  const project = createScratchProject();
  onTestFinished(() => project.dispose());
  project.write('a.txt', 'a\n');
  const commit = project.commit('first');
  const write = (path: string, text: string): string => {
    const file = join(project.root, '.git', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  return { project, commit, write };
}

it('an object without bytes goes, and what a git is about to write stays', async () => {
  const { project, write } = stage();
  const object = write(`objects/ab/${'c'.repeat(38)}`, '');
  const draft = write('objects/ab/tmp_obj_x', '');
  await repair(project, null);
  expect([existsSync(object), existsSync(draft)]).toEqual([false, true]);
});

it('a pack of ours that a killed host made git keep is let go after an hour, and one of the user’s is not', async () => {
  const { project, write } = stage();
  const ours = 'caisson is about to name it by a ref\n';
  const keeps = [
    { file: write('objects/pack/pack-1.keep', ours), ageMs: 2 * 3_600_000 },
    { file: write('objects/pack/pack-2.keep', ours), ageMs: 0 },
    { file: write('objects/pack/pack-3.keep', 'mine\n'), ageMs: 2 * 3_600_000 },
  ];
  const pipe = join(project.root, '.git/objects/pack/pack-4.keep'); // opening it would wait for ever
  execFileSync('mkfifo', [pipe]);
  keeps.push({ file: pipe, ageMs: 2 * 3_600_000 });
  for (const { file, ageMs } of keeps) utimesSync(file, new Date(), new Date(Date.now() - ageMs));
  await repair(project, null);
  expect(keeps.map(({ file }) => existsSync(file))).toEqual([false, true, true, true]);
});

it('nothing behind a link in a .git that was handed over is touched', async () => {
  const { project, commit, write } = stage();
  const docs = join(project.base, 'docs');
  const keep = (name: string): string => {
    mkdirSync(dirname(join(docs, name)), { recursive: true });
    writeFileSync(join(docs, name), '');
    return join(docs, name);
  };
  const files = [keep('letter.txt'), keep('run_00000000000000000001/1'), keep('c'.repeat(38))];
  const git = join(project.root, '.git');
  symlinkSync(docs, join(git, 'objects/ee'));
  symlinkSync(docs, join(git, 'refs/caisson'));
  expect(await repair(project, commit)).toEqual([]);
  rmSync(join(git, 'refs/caisson'));
  project.git('branch', 'mine');
  mkdirSync(join(git, 'refs/caisson/run_00000000000000000001/heads'), { recursive: true });
  symlinkSync(join(git, 'refs/heads'), join(git, 'refs/caisson/run_00000000000000000001/heads/1'));
  write('refs/heads/mine', `${'d'.repeat(40)}\n`);
  expect(await repair(project, null)).toEqual([]);
  expect([...files, join(git, 'refs/heads/mine')].filter((file) => !existsSync(file))).toEqual([]);
});

it('a ref is replaced under the lock of git, and the lock of another process is not touched', async () => {
  const { project, commit, write } = stage();
  const file = write(REF, '');
  const lock = write(`${REF}.lock`, '');
  expect(await repair(project, commit)).toEqual([]);
  expect(readFileSync(file, 'utf8')).toBe('');
  rmSync(lock);
  expect(await repair(project, commit)).toMatchObject([{ ref: REF, problem: 'empty', restoredTo: commit }]);
  expect([project.git('rev-parse', REF).trim(), existsSync(lock)]).toEqual([commit, false]);
  write(REF, 'nothing');
  expect(await repair(project, null)).toMatchObject([{ ref: REF, problem: 'garbage', restoredTo: null }]);
  expect([existsSync(file), existsSync(lock)]).toEqual([false, false]);
});

it('a ref whose object is gone is never away while it is put right', async () => {
  const { project, commit, write } = stage();
  const file = write(REF, `${'d'.repeat(40)}\n`);
  const seen: boolean[] = [];
  const watcher = watch(dirname(file), () => seen.push(existsSync(file)));
  onTestFinished(() => watcher.close());
  expect(await repair(project, commit)).toMatchObject([{ problem: 'missing-object', restoredTo: commit }]);
  await expect.poll(() => seen.length).toBeGreaterThan(0);
  expect(seen).not.toContain(false);
  expect(project.git('rev-parse', REF).trim()).toBe(commit);
});

it('a ref that should be there and is gone is made again where git has the commit, and nothing else is', async () => {
  const { project, commit } = stage();
  const other = REF.replace(/1$/, '2');
  const expected = new Map([
    [REF, commit],
    [other, 'd'.repeat(40)],
  ]);
  expect(await repair(project, null, expected)).toMatchObject([
    { ref: REF, problem: 'gone', restoredTo: commit },
  ]);
  expect(await repair(project, null, expected)).toEqual([]);
  expect(project.git('for-each-ref', '--format=%(refname)', 'refs/caisson').trim()).toBe(REF);
});

async function repair(
  { workspaces, root, stateDir }: ScratchProject,
  commit: string | null,
  expected: ReadonlyMap<string, string> = new Map(),
): Promise<readonly RefRepair[]> {
  const listMissed = async function* (refs: AsyncIterable<string>): AsyncGenerator<[string, string]> {
    const there = new Set(await Array.fromAsync(refs));
    for (const each of expected) if (!there.has(each[0])) yield each;
  };
  const known = { findTarget: () => commit, listMissed };
  return await workspaces.repairRefs({ projectRoot: root, stateDir, known });
}
