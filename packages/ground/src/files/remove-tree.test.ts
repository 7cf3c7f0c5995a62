import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeTree } from './remove-tree.ts';

const NOBODY = 65_534;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-remove-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('removing what an agent made', () => {
  it('takes folders that are nested deeper than a path can say', async () => {
    const target = join(folder, 'tree');
    mkdirSync(target);
    const nest = `i=0; n=${'x'.repeat(50)}; while [ $i -lt 200 ]; do mkdir $n && cd $n; i=$((i + 1)); done`;
    execFileSync('sh', ['-c', nest], { cwd: target });
    await removeTree(target);
    expect(existsSync(target)).toBe(false);
  });

  it('takes folders without rights, and follows no link out of them', async () => {
    const target = join(folder, 'tree');
    const kept = join(folder, 'kept');
    mkdirSync(join(target, 'cache/deep'), { recursive: true });
    writeFileSync(join(target, 'cache/deep/file'), 'x');
    writeFileSync(kept, 'mine', { mode: 0o400 });
    symlinkSync(kept, join(target, 'cache/link'));
    const isRoot = process.getuid?.() === 0;
    if (isRoot) execFileSync('chown', ['-R', String(NOBODY), folder]);
    chmodSync(join(target, 'cache/deep'), 0);
    chmodSync(join(target, 'cache'), 0o555);
    if (isRoot) process.seteuid?.(NOBODY);
    try {
      await removeTree(target);
      expect(existsSync(target)).toBe(false);
      expect(readFileSync(kept, 'utf8')).toBe('mine');
    } finally {
      if (isRoot) process.seteuid?.(0);
      chownSync(folder, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
    }
  });

  it('says nothing when there is nothing', async () => {
    await expect(removeTree(join(folder, 'absent'))).resolves.toBeUndefined();
  });
});
