import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { AddonMissingError } from '../errors.ts';
import { findAddon, findLoading } from './find-addon.ts';

test('SQLite is found where the library was installed', () => {
  expect(findAddon()).toMatch(/better-sqlite3\/.*\.node$/);
});

test.each([
  ['there is no build', 'there is none for', () => undefined],
  [
    'the build is damaged',
    'cannot|invalid|too short',
    (folder: string) => {
      mkdirSync(join(folder, 'prebuilds'));
      writeFileSync(join(folder, 'prebuilds', `linux-${process.arch}.node`), 'nothing');
    },
  ],
])('where %s, the message says what to do', (_case, words, damage) => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-addon-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  damage(folder);
  expect(() => findLoading(folder)).toThrow(AddonMissingError);
  expect(() => findLoading(folder)).toThrow(new RegExp(words));
});
