import { expect, test } from 'vitest';
import { formatDiff, formatDiffStat } from './format-diff.ts';
import { render, STYLE } from './painted.ts';

const [bold, dim, red, green] = [1, 2, 31, 32].map(
  (code) => (text: string) => `\u001b[${code}m${text}\u001b[${code < 3 ? 22 : 39}m`,
) as [Paint, Paint, Paint, Paint];
type Paint = (text: string) => string;

test('a diff is coloured by line, and a line cannot hide itself', () => {
  const text =
    'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\told\n+\u001b[8mhidden\u001b[0m\r\n same\n';
  expect(formatDiff(text, STYLE).map((line) => render(line, true))).toEqual([
    bold('diff --git a/x b/x'),
    bold('--- a/x'),
    bold('+++ b/x'),
    dim('@@ -1 +1 @@'),
    red('-\told'),
    green('+\\u001b[8mhidden\\u001b[0m\\u000d'),
    ' same',
  ]);
});

test('one line is one line', () => {
  const file = { path: 'x', status: 'modified', linesRemoved: 0, binary: false } as const;
  const total = (linesAdded: number) =>
    render(formatDiffStat([{ ...file, linesAdded }], STYLE).at(-1) ?? '', false);
  expect([total(1), total(2)]).toEqual([
    '1 file, 1 line added, 0 removed',
    '1 file, 2 lines added, 0 removed',
  ]);
});
