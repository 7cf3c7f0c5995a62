import { expect, it } from 'vitest';
import { findReleaseProblems } from '../../scripts/release-problems.ts';

const READY = {
  version: '1.2.0',
  changelog: '# C\n\n## [Unreleased]\n\n## [1.2.0]\n\n- all\n',
  changedFiles: '',
};

it('a release needs its section of the changelog, with something in it, and a clean tree', () => {
  expect(findReleaseProblems(READY)).toEqual([]);
  expect(findReleaseProblems({ ...READY, version: '1.3.0' })).toEqual([
    expect.stringContaining('no section'),
  ]);
  const empty = '## [1.2.0]\n\n## [1.1.0]\n\n- old\n';
  expect(findReleaseProblems({ ...READY, changelog: empty })).toEqual([expect.stringContaining('is empty')]);
  expect(findReleaseProblems({ ...READY, changedFiles: ' M a\n' })).toHaveLength(1);
});
