import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { PatchChoiceError, slicePatch } from './slice-patch.ts';

const LINES = Array.from({ length: 60 }, (_, index) => `line ${index + 1}`);

function createRepository() {
  const root = mkdtempSync(join(tmpdir(), 'caisson-slice-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const git = (...given: string[]) =>
    execFileSync('git', ['-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b', ...given]);
  git('init', '-q');
  const write = (name: string, lines: readonly string[]) =>
    writeFileSync(join(root, name), `${lines.join('\n')}\n`);
  write('a.txt', LINES);
  write('gone.txt', ['x']);
  git('add', '-A');
  git('commit', '-qm', 'base');
  const changed = LINES.flatMap((line) =>
    line === 'line 5'
      ? ['new', 'newer', line]
      : line === 'line 30'
        ? []
        : line === 'line 55'
          ? ['55']
          : [line],
  );
  write('a.txt', changed);
  write('ü b.txt', ['--- a/evil', '+++ b/evil', '@@ -1 +1 @@']);
  git('rm', '-q', 'gone.txt');
  git('add', '-A');
  const patch = git('diff', '--cached', '--binary', '--full-index');
  git('reset', '-q', '--hard');
  const apply = (part: Buffer) => {
    writeFileSync(join(root, '.patch'), part);
    git('apply', '--unidiff-zero', '.patch');
    return git('status', '--short', '-uall').toString();
  };
  return { root, patch, apply, read: () => readFileSync(join(root, 'a.txt'), 'utf8').split('\n') };
}

it('takes one file of three', () => {
  const { patch, apply } = createRepository();
  expect(apply(slicePatch(patch, [{ path: 'gone.txt' }]))).toBe(' D gone.txt\n?? .patch\n');
});

it.each([
  [[0], ['new', 'newer', 'line 5', 'line 30', 'line 55']],
  [[1], ['line 5', 'line 55']],
  [[2], ['line 5', 'line 30', '55']],
  [
    [0, 2],
    ['new', 'newer', 'line 5', 'line 30', '55'],
  ],
])('takes the hunks %j of a file', (hunks, expected) => {
  const { patch, apply, read } = createRepository();
  const part = slicePatch(patch, [{ path: 'a.txt', hunks }]);
  apply(part);
  expect(read().filter((line) => /^(?:new|newer|55|line (?:5|30|55))$/.test(line))).toEqual(expected);
});

it('all files are the patch itself, also one whose lines look like a patch', () => {
  const { patch } = createRepository();
  const all = [{ path: 'a.txt' }, { path: 'gone.txt' }, { path: 'ü b.txt' }];
  expect(slicePatch(patch, all).equals(patch)).toBe(true);
});

it.each([
  [[{ path: 'other.txt' }], 'the patch does not change other.txt'],
  [[{ path: 'a.txt', hunks: [3] }], 'a.txt has the hunks 0 to 2, and no 3'],
  [[{ path: 'a.txt', hunks: [] }], 'a.txt has the hunks 0 to 2, and no empty choice'],
])('refuses %j', (choices, message) => {
  const { patch } = createRepository();
  expect(() => slicePatch(patch, choices)).toThrow(new PatchChoiceError(message));
});
