import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { diffText, type ApplyOptions, type ApplyResult, type PreparedWorkspace } from './index.ts';
import { captureProven, createScratchProject, gitIn, type ScratchProject } from './scratch-project-stage.ts';

let project: ScratchProject;
const LINES = Array.from({ length: 30 }, (_, index) => `line ${index}\n`);

beforeEach(() => {
  project = createScratchProject();
  project.write('a.txt', LINES.join(''));
  project.write('b.txt', 'bee\n');
  project.write('dir/only.txt', 'x\n');
  project.commit('first');
});
afterEach(() => project.dispose());

async function patchOf(
  change: (write: (path: string, bytes: string | Buffer) => void, prepared: PreparedWorkspace) => void,
): Promise<Buffer> {
  const prepared = await project.prepare();
  change((path, bytes) => writeFileSync(join(prepared.path, path), bytes), prepared);
  const { patch } = await captureProven(prepared);
  await project.workspaces.checkpoint(prepared);
  return patch;
}

const apply = (patch: Buffer, changes: Partial<ApplyOptions> = {}): Promise<ApplyResult> =>
  project.workspaces.apply({
    projectRoot: project.root,
    stateDir: project.stateDir,
    patch,
    baseCommit: null,
    threeWay: false,
    ...changes,
  });

describe('apply', () => {
  it('brings every kind of change, on top of uncommitted ones the baseline had, and leaves the index alone', async () => {
    project.write('b.txt', 'uncommitted\n');
    project.write('script', '#!/bin/sh\n');
    project.write('name with "quotes"', 'q\n'.repeat(20));
    chmodSync(join(project.root, 'b.txt'), 0o600);
    const patch = await patchOf((write, prepared) => {
      write('b.txt', 'uncommitted\nand the agent\n');
      write('bin', Buffer.from([0, 255, 1]));
      write('empty', '');
      rmSync(join(prepared.path, 'dir'), { recursive: true });
      write('dir', 'a file now\n');
      chmodSync(join(prepared.path, 'script'), 0o755);
      rmSync(join(prepared.path, 'name with "quotes"'));
      write('moved', 'q\n'.repeat(20));
      symlinkSync('b.txt', join(prepared.path, 'link'));
    });
    const before = project.git('ls-files', '-s');
    expect((await apply(patch)).kind).toBe('applied');
    expect([
      project.read('b.txt'),
      project.read('bin'),
      project.read('empty'),
      project.read('dir'),
      project.read('link'),
    ]).toEqual([
      'uncommitted\nand the agent\n',
      '\0\xff\x01',
      '',
      'a file now\n',
      'uncommitted\nand the agent\n',
    ]);
    expect(statSync(join(project.root, 'b.txt')).mode & 0o777).toBe(0o600);
    expect(statSync(join(project.root, 'script')).mode & 0o111).not.toBe(0);
    expect([existsSync(join(project.root, 'name with "quotes"')), project.read('moved')]).toEqual([
      false,
      'q\n'.repeat(20),
    ]);
    expect(project.git('ls-files', '-s')).toBe(before);
  });

  it('says dirty for files with uncommitted changes of the user, and only for touched ones', async () => {
    const patch = await patchOf((write) => write('b.txt', 'agent\n'));
    project.write('a.txt', 'something else entirely\n');
    project.write('b.txt', 'user\n');
    expect(await apply(patch)).toEqual({ kind: 'dirty', files: ['b.txt'] });
    expect(await apply(patch, { threeWay: true })).toEqual({ kind: 'dirty', files: ['b.txt'] });
    expect(project.read('b.txt')).toBe('user\n');
    project.write('b.txt', 'bee\n');
    expect(await apply(patch)).toEqual({ kind: 'applied', files: ['b.txt'] });
  });

  it('merges three ways where the file has moved on, and changes nothing when it cannot', async () => {
    const patch = await patchOf((write) => {
      write('a.txt', LINES.with(2, 'agent\n').join(''));
      write('new.txt', 'new\n');
    });
    project.write('a.txt', LINES.with(25, 'user\n').join(''));
    project.commit('second');
    expect(await apply(patch)).toEqual({ kind: 'conflicts', files: ['a.txt'], areMarkersLeft: false });
    expect(existsSync(join(project.root, 'new.txt'))).toBe(false);
    expect((await apply(patch, { threeWay: true })).kind).toBe('applied');
    expect(project.read('a.txt')).toBe(LINES.with(2, 'agent\n').with(25, 'user\n').join(''));
  });

  it('lists conflicts and leaves markers only when asked', async () => {
    const patch = await patchOf((write) => {
      write('a.txt', LINES.with(2, 'agent\n').join(''));
      write('b.txt', 'agent\n');
    });
    project.write('a.txt', LINES.with(2, 'user\n').join(''));
    project.commit('second');
    expect(await apply(patch, { threeWay: true })).toEqual({
      kind: 'conflicts',
      files: ['a.txt'],
      areMarkersLeft: false,
    });
    expect([project.read('b.txt'), project.git('status', '--porcelain')]).toEqual(['bee\n', '']);
    expect(await apply(patch, { threeWay: true, leaveConflicts: true })).toEqual({
      kind: 'conflicts',
      files: ['a.txt'],
      areMarkersLeft: true,
    });
    expect(project.read('a.txt')).toContain('<<<<<<<');
    expect(project.read('b.txt')).toBe('agent\n');
  });

  it('knows a clean tree: names with a newline, converted contents, a submodule that moved on by a commit', async () => {
    project.write('new\nline.txt', LINES.join(''));
    project.write('.gitattributes', '*.win text eol=crlf\n*.up filter=up\n');
    project.write('a.win', LINES.join('').replaceAll('\n', '\r\n'));
    project.write('racy.win', LINES.join('').replaceAll('\n', '\r\n'));
    project.git('config', 'filter.up.clean', 'tr a-z A-Z');
    project.git('config', 'filter.up.smudge', 'tr A-Z a-z');
    project.write('a.up', LINES.join(''));
    project.git('add', '-A');
    const inner = createScratchProject();
    try {
      inner.write('lib.txt', LINES.join(''));
      inner.commit('lib');
      project.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.root, 'sub');
    } finally {
      inner.dispose();
    }
    project.commit('second');
    const changed = ['new\nline.txt', 'a.win', 'racy.win', 'a.up', 'sub/lib.txt'];
    const edit = (root: string, at: number, by: string): void => {
      for (const name of changed) {
        const path = join(root, name);
        const end = name.endsWith('.win') ? '\r\n' : '\n';
        const lines = readFileSync(path, 'utf8').split(end);
        writeFileSync(path, lines.with(at, by).join(end));
      }
    };
    const patch = await patchOf((_write, prepared) => edit(prepared.path, 2, 'agent'));
    edit(project.root, 25, 'user');
    gitIn(join(project.root, 'sub'), project.home, 'commit', '-qam', 'inner');
    project.commit('third');
    utimesSync(join(project.root, 'racy.win'), new Date(), new Date()); // the index does not know it any more
    expect(project.git('diff', 'HEAD', '--stat')).toBe('');
    const result = await apply(patch, { threeWay: true });
    expect({ ...result, files: result.files.toSorted() }).toEqual({
      kind: 'applied',
      files: changed.toSorted(),
    });
    for (const name of changed) expect(project.read(name), name).toMatch(/agent[^]*user/);
    expect((await apply(patch, { threeWay: true })).kind).toBe('dirty');
  });

  it('names a file that the user deleted, committed or not, and agrees where both deleted', async () => {
    const patch = await patchOf((write, prepared) => {
      write('a.txt', LINES.with(2, 'agent\n').join(''));
      rmSync(join(prepared.path, 'dir/only.txt'));
      write('b.txt', 'agent\n');
    });
    rmSync(join(project.root, 'a.txt'));
    rmSync(join(project.root, 'dir/only.txt'));
    const refused = { kind: 'conflicts', files: ['a.txt'], areMarkersLeft: false };
    expect(await apply(patch, { threeWay: true })).toEqual(refused);
    project.commit('gone');
    expect(await apply(patch, { threeWay: true })).toEqual(refused);
    expect(project.read('b.txt')).toBe('bee\n');
    expect(await apply(patch, { threeWay: true, leaveConflicts: true })).toEqual({
      ...refused,
      areMarkersLeft: true,
    });
    expect([project.read('a.txt'), project.read('b.txt')]).toEqual([
      LINES.with(2, 'agent\n').join(''),
      'agent\n',
    ]);
    expect(existsSync(join(project.root, 'dir/only.txt'))).toBe(false);
  });

  it('is undone as a whole when a file cannot be put into place', async () => {
    const patch = await patchOf((write, prepared) => {
      write('a.txt', 'changed\n');
      mkdirSync(join(prepared.path, 'zz'));
      write('zz/file', 'x');
    });
    const blocked = join(project.root, 'zz');
    writeFileSync(blocked, 'a file is in the way');
    await expect(apply(patch)).rejects.toThrow();
    expect(project.read('a.txt')).toBe(LINES.join(''));
    expect(project.read('zz')).toBe('a file is in the way');
  });

  it('never leaves the project through a link or touches .git', async () => {
    const patch = await patchOf((write, prepared) => {
      mkdirSync(join(prepared.path, 'sub'));
      write('sub/file', 'x');
    });
    mkdirSync(join(project.base, 'outside'));
    symlinkSync(join(project.base, 'outside'), join(project.root, 'sub'));
    await expect(apply(patch)).rejects.toThrow(/goes through the link sub/);
    const forged = Buffer.from(patch.toString().replaceAll('sub/file', '.git/hooks/x'));
    await expect(apply(forged)).rejects.toThrow(/not a path inside the project/);
    expect(existsSync(join(project.base, 'outside/file'))).toBe(false);
  });

  it('does not take another file under the new name of a moved one for the moved one', async () => {
    project.write('long.txt', 'line\n'.repeat(50));
    project.commit('long');
    const patch = await patchOf((_write, prepared) =>
      renameSync(join(prepared.path, 'long.txt'), join(prepared.path, 'moved.txt')),
    );
    rmSync(join(project.root, 'long.txt'));
    project.write('moved.txt', 'something else\n');
    expect(await apply(patch)).toMatchObject({ kind: 'dirty', files: ['moved.txt'] });
  });

  it('does nothing for an empty patch and works in a folder without git', async () => {
    expect(await apply(Buffer.alloc(0))).toEqual({ kind: 'applied', files: [] });
    project.dispose();
    project = createScratchProject({ git: false });
    project.write('a.txt', 'one\n');
    const prepared = await project.prepare({ kind: 'in-place' });
    project.write('a.txt', 'two\n');
    const { patch } = await captureProven(prepared);
    project.write('a.txt', 'one\n');
    expect(await apply(patch)).toEqual({ kind: 'applied', files: ['a.txt'] });
    expect(project.read('a.txt')).toBe('two\n');
    expect(await apply(patch)).toEqual({ kind: 'applied', files: [], already: 'there' });
    project.write('a.txt', 'three\n');
    expect((await apply(patch)).kind).toBe('dirty');
  });
});

describe('diffText', () => {
  it('shows text and names binary content', async () => {
    const patch = await patchOf((write) => {
      write('b.txt', 'agent\n');
      write('bin', Buffer.from([0, 255, 1]));
    });
    const text = diffText(patch);
    expect(text).toContain('+agent\n');
    expect(text).toContain('Binary content (3 bytes)\n');
    expect(text).not.toContain('literal');
  });
});
