import type { ResidentView, SenseView } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { formatResidents, formatSenses, listBlocked } from './format-residents.ts';
import { render, STYLE, type Lines } from './painted.ts';

const RESIDENT: ResidentView = {
  key: 'senses.g',
  state: 'ready',
  serves: ['g'],
  crashes: 0,
  starts: 3,
  underWay: 0,
};
const SENSE: SenseView = {
  name: 'g',
  group: 'g',
  file: '/project/g.ts',
  state: 'ready',
  on: [],
  isComputing: false,
  computes: 4,
  failures: 0,
};
const SHOWN = { style: STYLE, isDeclared: true };
const textOf = (lines: Lines): string => lines.map((line) => render(line, false)).join('\n');
const listed = (changes: Partial<ResidentView>): string =>
  textOf(formatResidents([{ ...RESIDENT, ...changes }], SHOWN));

test('a blocked resident is shown with its cause and what helps, also by a daemon that did not see it crash', () => {
  const blocked = { ...RESIDENT, state: 'blocked', blockReason: 'signal: SIGKILL' } as const;
  expect(listed(blocked)).toMatch(/ caisson residents reset senses\.g · signal: SIGKILL$/);
  expect(textOf(listBlocked([RESIDENT, blocked]))).toBe(
    'senses.g is blocked (signal: SIGKILL). So that it works again: caisson residents reset senses.g',
  );
});

test('an ending is a problem while it counts, and not of a worker that has gone on', () => {
  const lastEnding = {
    why: 'signal',
    detail: 'SIGKILL',
    stderrTail: '',
    at: '2026-11-19T04:32:45.777Z',
  } as const;
  expect(listed({ lastEnding, crashes: 1 })).toMatch(/ 3 +1 +signal: SIGKILL$/);
  expect(listed({ lastEnding })).toMatch(/ 3 +0 *$/);
});

test('a sense whose saved file does not load shows why, before the problem of its last compute', () => {
  const problem = 'SyntaxError: Unexpected token\n    at x';
  const shown = textOf(formatSenses([{ ...SENSE, problem, lastProblem: 'threw: no' }], SHOWN));
  expect(shown).toContain('SyntaxError: Unexpected token');
  expect(shown).not.toContain('threw');
});
