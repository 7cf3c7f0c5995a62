import { expect, test } from 'vitest';
import {
  chooseAll,
  fileState,
  isHunkChosen,
  NOTHING_CHOSEN,
  toggleFile,
  toggleHunk,
  toOnly,
} from './choice.ts';
import type { PatchFile } from './parse-patch.ts';

const file = (path: string, hunks: number): PatchFile => ({
  ...{ path, oldPath: path, change: 'changed', isBinary: false, added: 1, removed: 0, hiddenLines: 0 },
  hunks: Array.from({ length: hunks }, (_, index) => ({ number: index + 1, header: '@@', lines: [] })),
});
const a = file('a', 3);
const b = file('b', 0);

test('everything chosen is the whole patch', () => {
  expect(toOnly(chooseAll([a, b]), [a, b])).toBeUndefined();
});

test('a hunk that is left out leaves the others, which the host counts from 0', () => {
  const choice = toggleHunk(chooseAll([a, b]), a, 2);
  expect(toOnly(choice, [a, b])).toEqual([{ path: 'a', hunks: [0, 2] }, { path: 'b' }]);
  expect(fileState(choice, 'a')).toBe('some');
  expect(isHunkChosen(choice, 'a', 2)).toBe(false);
});

test('the last hunk that is chosen again chooses the file', () => {
  const choice = toggleHunk(toggleHunk(chooseAll([a]), a, 2), a, 2);
  expect(toOnly(choice, [a])).toBeUndefined();
});

test('a file without a chosen hunk is not chosen', () => {
  const choice = [1, 2, 3].reduce((before, hunk) => toggleHunk(before, a, hunk), chooseAll([a, b]));
  expect(toOnly(choice, [a, b])).toEqual([{ path: 'b' }]);
});

test('a file is chosen as a whole, and not at all', () => {
  const choice = toggleFile(NOTHING_CHOSEN, b);
  expect(toOnly(choice, [a, b])).toEqual([{ path: 'b' }]);
  expect(toggleFile(choice, b).size).toBe(0);
});
