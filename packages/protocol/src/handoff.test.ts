import { expect, test } from 'vitest';
import { AgentHandoff, describeHandoffProblems } from './handoff.ts';

const LIST = 'a list of at most 64 texts with at most 4096 characters each';

test.each([
  [null, 'it must be an object with "status" and "summary"'],
  [[], 'it must be an object with "status" and "summary"'],
  [
    { status: 'great', summary: 'x' },
    '"status" must be one of "complete", "partial", "blocked", "failed"; it is "great"',
  ],
  [{ status: 'complete' }, '"summary" must be a text with 1 to 65536 characters; it is missing'],
  [
    { status: 'complete', summary: '', concerns: 'none' },
    `"summary" must be a text with 1 to 65536 characters; it is "". "concerns" must be ${LIST}; it is "none"`,
  ],
  [
    { status: 'complete', summary: 'x', suggestions: ['a', 1, 2] },
    `"suggestions" must be ${LIST}; it is ["a",1,2]`,
  ],
])('what is wrong with %j is said in words', (value, words) => {
  const { error } = AgentHandoff.safeParse(value);
  expect(error && describeHandoffProblems(value, error)).toBe(words);
});

test('a value that is too long is shown by its beginning and its length', () => {
  const value = { status: 'complete', summary: 'x'.repeat(70_000) };
  const { error } = AgentHandoff.safeParse(value);
  expect(error && describeHandoffProblems(value, error)).toMatch(/it is "x{79}… \(70002 characters\)$/);
});
