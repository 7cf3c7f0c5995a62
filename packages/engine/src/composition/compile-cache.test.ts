import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { prepareCompileCache } from './compile-cache.ts';

const STRANGER = 31_234;
let home = '';
let cache = '';

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'caisson-compile-'));
  cache = join(home, '.cache/caisson');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

it('is made for this user alone, and used again', () => {
  expect(prepareCompileCache({ cache })).toBe(join(cache, 'compile'));
  expect(statSync(join(cache, 'compile')).mode & 0o777).toBe(0o700);
  expect(prepareCompileCache({ cache })).toBe(join(cache, 'compile'));
});

it.each([
  ['the folder itself', 'caisson/compile', 0o755],
  ['the folder above it', 'caisson', 0o775],
  ['one further up', '', 0o777],
])('is not used if others have a right to %s', (_what, path, mode) => {
  mkdirSync(join(cache, 'compile'), { recursive: true, mode: 0o700 });
  chmodSync(join(home, '.cache', path), mode);
  expect(prepareCompileCache({ cache })).toBeNull();
});

it('is neither used nor made in the home of another account', (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root can give a folder to another account');
  chownSync(home, STRANGER, STRANGER);
  expect(prepareCompileCache({ cache })).toBeNull();
  expect(existsSync(join(home, '.cache'))).toBe(false);
});
