import { expect, test } from 'vitest';
import { formatDiff } from './format-diff.ts';

const style = {
  bold: (text: string) => `<b>${text}</b>`,
  dim: (text: string) => `<d>${text}</d>`,
  red: (text: string) => `<r>${text}</r>`,
  green: (text: string) => `<g>${text}</g>`,
  yellow: (text: string) => text,
};

test('a diff is coloured by line, and a line cannot hide itself', () => {
  const text =
    'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\told\n+\u001b[8mhidden\u001b[0m\n same\n';
  expect(formatDiff(text, style).split('\n')).toEqual([
    '<b>diff --git a/x b/x</b>',
    '<b>--- a/x</b>',
    '<b>+++ b/x</b>',
    '<d>@@ -1 +1 @@</d>',
    '<r>-\told</r>',
    '<g>+\\u001b[8mhidden\\u001b[0m</g>',
    ' same',
    '',
  ]);
});
