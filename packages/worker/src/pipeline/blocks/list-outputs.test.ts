import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listOutputs, readOutput } from './list-outputs.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outputs-'));
  mkdirSync(join(folder, 'private'));
  writeFileSync(join(folder, 'private', 'key'), 'not for agents');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('listOutputs', () => {
  it('finds regular files in folders of any depth', () => {
    const root = join(folder, 'outputs');
    mkdirSync(join(root, 'a', 'b'), { recursive: true });
    writeFileSync(join(root, 'z'), '1');
    writeFileSync(join(root, 'a', 'b', 'c'), '123');

    const files = listOutputs(root);

    expect(files).toEqual([
      { path: 'a/b/c', size: 3 },
      { path: 'z', size: 1 },
    ]);
    expect(files?.map((file) => readOutput(root, file).toString())).toEqual(['123', '1']);
  });

  it('follows no link, neither to a file nor into a folder, and waits for no pipe', () => {
    const root = join(folder, 'outputs');
    mkdirSync(root);
    symlinkSync(join(folder, 'private'), join(root, 'keys'));
    symlinkSync(join(folder, 'private', 'key'), join(root, 'key'));
    execFileSync('mkfifo', [join(root, 'pipe')]);

    expect(listOutputs(root)).toEqual([]);
    expect(() => readOutput(root, { path: 'key', size: 1 })).toThrow('ELOOP');
    expect(() => readOutput(root, { path: 'pipe', size: 1 })).toThrow('no longer a regular file');
  });

  it('does not enter an outputs folder that is itself a link', () => {
    symlinkSync(join(folder, 'private'), join(folder, 'outputs'));

    expect(listOutputs(join(folder, 'outputs'))).toEqual([]);
  });
});
