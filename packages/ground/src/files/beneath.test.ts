import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { lstat, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { beneath, inFolder, LinkInPathError } from './beneath.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-beneath-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (at: Buffer): Promise<void> => writeFile(at, 'x', { flag: 'wx' });

it('reaches a name in folders that are there, and makes those that are not when asked to', async () => {
  mkdirSync(join(root, 'a'));
  expect(await beneath(root, Buffer.from('a/b/c.txt'), write)).toBeNull();
  await beneath(root, Buffer.from('a/b/c.txt'), write, { create: true });
  expect(readFileSync(join(root, 'a/b/c.txt'), 'utf8')).toBe('x');
  expect(await beneath(root, Buffer.from('a/b/c.txt/d'), write)).toBeNull();
  const entry = await beneath(root, Buffer.from('a/b/c.txt'), (at) => lstat(at));
  expect(entry?.isFile()).toBe(true);
});

it.each(['link/x', 'a/link/x', 'a/link/sub/x'])('goes through no link: %s', async (path) => {
  mkdirSync(join(root, 'a'));
  mkdirSync(join(root, 'outside'));
  for (const name of ['link', 'a/link']) symlinkSync(join(root, 'outside'), join(root, name));
  await expect(beneath(root, Buffer.from(path), write, { create: true })).rejects.toThrow(LinkInPathError);
  expect(existsSync(join(root, 'outside/x'))).toBe(false);
  await expect(inFolder(Buffer.from(join(root, 'link')), () => Promise.resolve())).rejects.toThrow(
    LinkInPathError,
  );
});

it.each(['../x', 'a/../x', '/x', 'a//x', './x', ''])('%j is not a path inside', async (path) => {
  await expect(beneath(root, Buffer.from(path), write)).rejects.toThrow(LinkInPathError);
});

it('leaves no descriptor open, whatever happens', async () => {
  symlinkSync('/', join(root, 'link'));
  const count = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
  const before = await count();
  for (let round = 0; round < 20; round += 1) {
    await beneath(root, Buffer.from('a/b/c'), () => Promise.reject(new Error('x')), { create: true }).catch(
      () => 0,
    );
    await beneath(root, Buffer.from('link/b'), write).catch(() => 0);
    await beneath(root, Buffer.from('none/b'), write);
  }
  expect(await count()).toBe(before);
});
