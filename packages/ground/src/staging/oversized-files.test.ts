import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createOwnGitDir, EMPTY_TREE } from '../index.ts';
import { TooManyOversizedError } from './oversized-files.ts';
import { capturePatch, type CapturedPatch } from '../patch/patch.ts';
import { stageWorkspace } from './stage-workspace.ts';

const KIB = 1024;
const LIMITS = { maxFileBytes: 100 * KIB, maxTotalBytes: 250 * KIB };

let root: string;
let workspace: string;
let gitDir: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'caisson-oversized-'));
  workspace = join(root, 'files');
  gitDir = join(root, 'git');
  await mkdir(workspace);
});
afterEach(async () => await rm(root, { recursive: true, force: true }));

async function baseline(): Promise<string> {
  await createOwnGitDir({ path: gitDir, objectFormat: 'sha1' });
  return (await stageWorkspace({ workspace, gitDir, exclude: [], like: EMPTY_TREE.sha1 })).tree;
}

const capture = (baselineTree: string): Promise<CapturedPatch> =>
  capturePatch({ workspace, gitDir, baselineTree, exclude: [], limits: LIMITS });
const write = (path: string, bytes: string | Buffer): Promise<void> =>
  writeFile(join(workspace, path), bytes);

async function hole(path: string, bytes: number): Promise<void> {
  await write(path, '');
  await truncate(join(workspace, path), bytes);
}

const pathsOf = (captured: CapturedPatch): string[] => captured.files.map(({ path }) => path);

describe('files that are too large', () => {
  it('are left out by name, be they sparse, while everything else is captured', async () => {
    await write('kept', 'a');
    const tree = await baseline();
    await hole('hole', 8 * 1024 ** 3);
    await write('kept', 'b');
    const startedAt = performance.now();

    const captured = await capture(tree);

    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(pathsOf(captured)).toEqual(['kept']);
    expect(captured.oversized).toEqual([{ path: 'hole', size: 8 * 1024 ** 3 }]);
    expect((await capture(tree)).oversized).toEqual(captured.oversized);
  });

  it('stay as they were in the baseline when they have grown, and may be of any size when unchanged', async () => {
    await write('grows', 'small');
    await hole('large-already', 200 * KIB);
    const tree = await baseline();
    await hole('grows', 101 * KIB);
    await write('new', 'x');

    const captured = await capture(tree);

    expect(pathsOf(captured)).toEqual(['new']);
    expect(captured.oversized.map(({ path }) => path)).toEqual(['grows']);
  });

  it('are of no interest when they are ignored', async () => {
    await write('.gitignore', '*.bin\n');
    const tree = await baseline();
    await hole('ignored.bin', 1024 ** 3);
    await write('new', 'x');

    const captured = await capture(tree);

    expect(pathsOf(captured)).toEqual(['new']);
    expect(captured.oversized).toEqual([]);
  });

  it('are the largest ones when it is the sum that is too much', async () => {
    const tree = await baseline();
    for (const [name, size] of [
      ['a', 90],
      ['b', 80],
      ['c', 70],
      ['d', 60],
    ] as const)
      await write(name, Buffer.alloc(size * KIB, name));

    const captured = await capture(tree);

    expect(captured.oversized.map(({ path }) => path)).toEqual(['a']);
    expect(pathsOf(captured)).toEqual(['b', 'c', 'd']);
  });

  it('are found in a repository inside, and under a name that is not UTF-8', async () => {
    const tree = await baseline();
    await mkdir(join(workspace, 'inner'));
    execFileSync('git', ['init', '-q'], { cwd: join(workspace, 'inner') });
    await hole('inner/hole', 1024 ** 3);
    await write('inner/small', 'x');
    writeFileSync(
      Buffer.concat([Buffer.from(`${workspace}/odd-`), Buffer.from([0xff])]),
      Buffer.alloc(101 * KIB),
    );

    const captured = await capture(tree);

    expect(pathsOf(captured)).toEqual(['inner/small']);
    expect(captured.oversized.map(({ path }) => path).toSorted()).toEqual(['"odd-\\377"', 'inner/hole']);
  });

  it('end the capture when they are too many to be named one by one', async () => {
    const tree = await baseline();
    for (let count = 0; count < 600; count += 1) await hole(`hole-${count}`, 1024 ** 3);

    await expect(capture(tree)).rejects.toThrow(TooManyOversizedError);
  });
});
