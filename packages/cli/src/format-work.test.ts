import { expect, test } from 'vitest';
import { describeCall } from './format-work.ts';

const said = (what: string): string => describeCall({ tool: 'shell', what });

test.each([
  [
    String.raw`/bin/sh -lc "sed -i 's# /g#\\s/g#' a.js && echo \"\$HOME\""`,
    String.raw`sed -i 's# /g#\s/g#' a.js && echo "$HOME"`,
  ],
  ["bash -lc 'ls -l'", 'ls -l'],
  [`/bin/bash -lc 'it'"'"'s'`, "it's"],
  ['bash -lc ls', 'ls'],
])('a command that a program wrapped into a shell is shown as the agent wrote it: %s', (what, words) => {
  expect(said(what)).toBe(`shell  ${words}`);
});

test('a command of several words that is no wrapper stays as it is', () => {
  for (const what of ["sh -c 'a' b", 'sh -c "a', 'make all']) expect(said(what)).toBe(`shell  ${what}`);
});
