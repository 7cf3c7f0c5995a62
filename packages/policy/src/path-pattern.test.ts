import { expect, test } from 'vitest';
import { compilePattern, findPatternProblem } from './path-pattern.ts';

const LONGEST = 4096;
const names = (name: string): string => `${name}/`.repeat(LONGEST).slice(0, LONGEST);
/** Paths that nearly match: each star could stand for much, and the end never fits. */
const PATHS = [
  `w/${'a'.repeat(LONGEST - 2)}`,
  names('a'),
  names('a'.repeat(255)),
  `w/${names('a'.repeat(255))}`,
];

test.each([
  'w/*a*a*a*a*a*a*a*a*a*a*b',
  '*a*a*a*a*a*a*b',
  '**/a/**/a/**/a/**/a/**/b',
  'w/*a*a*a/*a*a*a/*a*a*a/**/*a*a*b',
  '{*a*a*a*a*a*b,**/a/**/a/**/a/**/c}',
  'w/*a*a[b]',
  '*a*a[b]',
  '**/a/**/[b]',
  '!(a)a*[b]',
  '*@(a|aa)a*b',
])('the pattern %s is compared with a long path in less than 100 ms', (pattern) => {
  expect(findPatternProblem(pattern)).toBeNull();
  const { matches } = compilePattern(pattern);
  for (const path of PATHS) matches(path.slice(0, 8)); // compiled before it is measured
  const beganAt = performance.now();
  for (const path of PATHS) matches(path);
  expect((performance.now() - beganAt) / PATHS.length).toBeLessThan(100);
});

test.each([
  ['+(a|aa)b', 'repeats a group'],
  ['*(a|b)c', 'repeats a group'],
  ['([a]+)+b', 'repeats a group'],
  ['@(a|@(b|c))', 'has one in another'],
  ['*a*a*a[b]', 'has more than 2 stars'],
  ['{a,b}'.repeat(7), 'stands for more than 64'],
  ['a'.repeat(1025), 'has more than 1024 characters'],
])('the pattern %s is refused', (pattern, problem) => {
  expect(findPatternProblem(pattern)).toContain(problem);
});

test.each([
  ['src/**', ['src', 'src/a', 'src/a/b'], ['a/src', 'srcs', 'src/../a']],
  ['*.ts', ['a.ts', 'x/y/.a.ts', 'a.ts/b'], ['a.tsx', 'a.js']],
  ['./*.ts', ['a.ts'], ['x/a.ts']],
  ['src/**/*.{test,spec}.ts', ['src/a.test.ts', 'src/x/y/a.spec.ts'], ['src/a.ts', 'b/src/a.test.ts']],
  ['a/**/b/**/c?', ['a/b/c1', 'a/x/b/b/y/c1'], ['a/c1', 'a/b/c', 'a/b/c12']],
  ['[ab]/x', ['a/x', 'b/x/y'], ['c/x']],
  ['*', ['a', '.a', 'a/b'], ['..', '.']],
  ['a.b$', ['a.b$'], ['axb$']],
])('the pattern %s matches what it names', (pattern, wanted, others) => {
  const { matches } = compilePattern(pattern);
  expect(wanted.filter((path) => !matches(path))).toEqual([]);
  expect(others.filter((path) => matches(path))).toEqual([]);
});
