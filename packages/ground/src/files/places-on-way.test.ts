import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { placesOnWay } from './places-on-way.ts';

function createRoot(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'places-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

test('a path without links is the only place, also if nothing is there', () => {
  const root = createRoot();
  expect(placesOnWay(`${root}/a/../b/./c`)).toEqual([`${root}/b/c`]);
});

test('each link of a chain is a place, and the end is where the kernel ends', () => {
  const root = createRoot();
  mkdirSync(join(root, 'real/deep'), { recursive: true });
  writeFileSync(join(root, 'real/file'), '');
  symlinkSync('middle', join(root, 'first'));
  symlinkSync(join(root, 'real/deep'), join(root, 'middle'));
  symlinkSync('../file', join(root, 'real/deep/up'));
  const path = join(root, 'first/up');
  expect(placesOnWay(path)).toEqual([
    path,
    join(root, 'middle/up'),
    join(root, 'real/deep/up'),
    realpathSync(path),
  ]);
});

test('".." behind a link means the parent of its target', () => {
  const root = createRoot();
  mkdirSync(join(root, 'real/deep'), { recursive: true });
  symlinkSync('real/deep', join(root, 'link'));
  expect(placesOnWay(`${root}/link/../x`)).toEqual([join(root, 'link'), join(root, 'real/x')]);
});

test('links in a circle end', () => {
  const root = createRoot();
  symlinkSync('b', join(root, 'a'));
  symlinkSync('a', join(root, 'b'));
  expect(new Set(placesOnWay(join(root, 'a'))).size).toBe(3);
});
