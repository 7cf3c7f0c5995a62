import { expect, test } from 'vitest';
import { findOutsideScope } from './outside-scope.ts';

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
