import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { measureTree } from './measure-tree.ts';

it('counts a file with two names once, and follows no link', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-measure-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [one, other] = [join(folder, 'one'), join(folder, 'other')];
  for (const path of [one, other]) mkdirSync(path);
  const empty = await measureTree(one);
  writeFileSync(join(one, 'file'), Buffer.alloc(100_000));
  const bytes = (await measureTree(one)) - empty;
  expect(bytes).toBeGreaterThanOrEqual(100_000);
  linkSync(join(one, 'file'), join(other, 'file'));
  symlinkSync('/', join(one, 'link'));
  const seen = new Set<string>();
  const measured = [await measureTree(one, seen), await measureTree(other, seen), await measureTree(other)];
  expect(measured.map((each) => each >= bytes)).toEqual([true, false, true]);
  expect(await measureTree(join(folder, 'none'))).toBe(0);
});
