import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loosePath } from './loose-object.ts';
import { findTreeOfCommit } from './tree-of-commit.ts';

function createRepository(format: string) {
  const root = mkdtempSync(join(tmpdir(), 'caisson-commit-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
      cwd: root,
      encoding: 'utf8',
    }).trim();
  git('init', '-q', '-b', 'main', `--object-format=${format}`);
  for (const name of ['one', 'two', 'three']) {
    writeFileSync(join(root, name), name);
    git('add', '-A');
    git('commit', '-qm', `${name} ${'with many words '.repeat(20)}`);
  }
  return { git, objects: join(root, '.git/objects') };
}

it.each(['sha1', 'sha256'])('the tree of a commit is found, loose or in a pack (%s)', async (format) => {
  const { git, objects } = createRepository(format);
  const commits = git('rev-list', 'HEAD').split('\n');
  const trees = commits.map((commit) => git('rev-parse', `${commit}^{tree}`));
  expect(await Promise.all(commits.map((commit) => findTreeOfCommit(objects, commit)))).toEqual(trees);
  git('gc', '-q');
  expect(readdirSync(join(objects, 'pack')).some((name) => name.endsWith('.idx'))).toBe(true);
  const found = await Promise.all(commits.map((commit) => findTreeOfCommit(objects, commit)));
  expect(found[0]).toBe(trees[0]); // the newest is whole
  for (const [at, tree] of found.entries()) expect([trees[at], null]).toContain(tree); // others may be deltas
});

it('a commit that is missing, of another kind or broken is left to git', async () => {
  const { git, objects } = createRepository('sha1');
  const head = git('rev-parse', 'HEAD');
  expect(await findTreeOfCommit(objects, 'f'.repeat(40))).toBeNull();
  expect(await findTreeOfCommit(objects, git('rev-parse', 'HEAD^{tree}'))).toBeNull();
  rmSync(loosePath(objects, head), { force: true });
  writeFileSync(loosePath(objects, head), 'no object');
  expect(await findTreeOfCommit(objects, head)).toBeNull();
});
