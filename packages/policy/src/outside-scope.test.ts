import { expect, test } from 'vitest';
import { findOutsideScope, findScopePlace } from './outside-scope.ts';

const PATHS = ['src/a.ts', 'src/deep/b.ts', 'docs/a.md', 'README.md', '.github/x.yml', '../other/c.ts'];

test.each([
  [[], []],
  [['.'], []],
  [['src'], PATHS.slice(2)],
  [['src/'], PATHS.slice(2)],
  [['src/**'], PATHS.slice(2)],
  [['./src/*.ts'], PATHS.slice(1)],
  [['*.md'], ['src/a.ts', 'src/deep/b.ts', '.github/x.yml', '../other/c.ts']],
  [['./*.md'], ['src/a.ts', 'src/deep/b.ts', 'docs/a.md', '.github/x.yml', '../other/c.ts']],
  [['src/**', '.github/**', '*.md'], ['../other/c.ts']],
  [['nothing'], PATHS],
])('the scope %j leaves %j outside', (scope, outside) => {
  expect(findOutsideScope(scope, PATHS)).toEqual(outside);
});

test.each([
  ['src', 'src'],
  ['./src/', 'src'],
  ['src/**', 'src'],
  ['src/*/a.ts', 'src'],
  ['src/auth/login.ts', 'src/auth/login.ts'],
  ['*.md', null],
  ['**/a', null],
  ['.', null],
  ['../a', null],
])('the pattern %j begins with %j', (pattern, place) => {
  expect(findScopePlace(pattern)).toBe(place);
});
