import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { prepareStateFolder, StateFolderError } from './state-folder.ts';

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-state-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a state folder is made with all above it, for its owner only, and ignores itself', () => {
  const state = join(createFolder(), 'a', 'b');
  prepareStateFolder(state);
  prepareStateFolder(state);
  expect(statSync(state).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(state, '.gitignore'), 'utf8')).toBe('*\n');
});

test('a place that takes no folder is refused instead of tried for ever', () => {
  expect(() => prepareStateFolder('/proc/caisson/state')).toThrow(StateFolderError);
});

test('a file in the way is named and left as it is', () => {
  const file = join(createFolder(), 'file');
  writeFileSync(file, 'mine');
  for (const state of [file, join(file, 'below')])
    expect(() => prepareStateFolder(state)).toThrow(`the state folder ${state} cannot be written`);
  expect(readFileSync(file, 'utf8')).toBe('mine');
});
