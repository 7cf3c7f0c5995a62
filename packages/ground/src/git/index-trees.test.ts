import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findIndexTree, makeIndexTrees, writeIndexTree } from './index-trees.ts';
import { loosePath } from './loose-object.ts';
import { EMPTY_TREE, type ObjectFormat } from './own-git-dir.ts';

function createRepository(format: ObjectFormat = 'sha1') {
  const root = mkdtempSync(join(tmpdir(), 'caisson-trees-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
      cwd: root,
      encoding: 'utf8',
    }).trim();
  git('init', '-q', '-b', 'main', `--object-format=${format}`);
  const write = (path: string | Buffer, content: string): void => {
    const full = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path)]);
    mkdirSync(dirname(full.toString('utf8')), { recursive: true });
    writeFileSync(full, content);
  };
  const gitDir = join(root, '.git');
  return { root, git, write, gitDir, index: join(gitDir, 'index') };
}

describe.each(['sha1', 'sha256'] as const)('the trees of an index (%s)', (format) => {
  it('are those that git writes, with the same bytes', async () => {
    const { root, git, write, gitDir, index } = createRepository(format);
    // Names that sort in another way as a folder than as a file.
    for (const name of ['a.c', 'a/b', 'a0', 'a-b/c', 'a/b.d/e', 'deep/er/est/x', 'z', 'a b', 'ä/ö'])
      write(name, name);
    write('tool', '#!/bin/sh\n');
    chmodSync(join(root, 'tool'), 0o755);
    symlinkSync('nowhere', join(root, 'link'));
    write(Buffer.from('caf\u00e9', 'latin1'), 'bytes');
    git('add', '-A');
    const tree = await writeIndexTree(gitDir, index, EMPTY_TREE[format]);
    expect(tree).not.toBeNull();
    expect(statSync(loosePath(join(gitDir, 'objects'), tree ?? '')).mode & 0o777).toBe(0o444);
    expect(git('fsck', '--strict')).toContain(`dangling tree ${tree}`);
    expect(git('cat-file', '-t', tree ?? '')).toBe('tree');
    expect(git('write-tree')).toBe(tree);
  });

  it('that the index remembers are not made again', async () => {
    const { git, write, gitDir, index } = createRepository(format);
    for (const name of ['one/a', 'two/b', 'two/three/c']) write(name, name);
    git('add', '-A');
    git('commit', '-qm', 'first');
    git('read-tree', 'HEAD');
    write('one/a', 'changed');
    git('add', 'one/a');
    const made = makeIndexTrees(readFileSync(index), EMPTY_TREE[format].length / 2)?.made;
    expect(made).toHaveLength(2); // the root and one/
    expect(await writeIndexTree(gitDir, index, EMPTY_TREE[format])).toBe(git('write-tree'));
  });
});

it('a tree that is in a pack is not written a second time', async () => {
  const { git, write, gitDir, index } = createRepository();
  write('folder/file', 'x');
  git('add', '-A');
  git('commit', '-qm', 'first');
  git('gc', '-q');
  git('update-index', '--force-write-index');
  expect(await writeIndexTree(gitDir, index, EMPTY_TREE.sha1)).toBe(git('rev-parse', 'HEAD^{tree}'));
  expect(git('count-objects')).toBe('0 objects, 0 kilobytes');
});

it('the tree of an index without entries is the empty one', async () => {
  const { git, write, index } = createRepository();
  write('only', '');
  git('add', '-A');
  git('rm', '-qf', 'only');
  expect(await findIndexTree(index, EMPTY_TREE.sha1)).toBe(EMPTY_TREE.sha1);
});

describe('git itself is asked', () => {
  it('about an index in the middle of a merge', async () => {
    const { git, write, index } = createRepository();
    write('file', 'base\n');
    git('add', '-A');
    git('commit', '-qm', 'base');
    git('checkout', '-qb', 'other');
    write('file', 'theirs\n');
    git('commit', '-qam', 'theirs');
    git('checkout', '-q', 'main');
    write('file', 'ours\n');
    git('commit', '-qam', 'ours');
    expect(() => git('merge', 'other')).toThrow();
    expect(await findIndexTree(index, EMPTY_TREE.sha1)).toBeNull();
  });

  it('about a file that is only announced', async () => {
    const { git, write, index } = createRepository();
    write('announced', 'x');
    git('add', '-N', 'announced');
    expect(await findIndexTree(index, EMPTY_TREE.sha1)).toBeNull();
  });

  it('about an index in two halves', async () => {
    const { git, write, index } = createRepository();
    write('file', 'x');
    git('add', '-A');
    git('update-index', '--split-index');
    expect(await findIndexTree(index, EMPTY_TREE.sha1)).toBeNull();
  });

  it('about something that is no index', async () => {
    const { index } = createRepository();
    writeFileSync(index, 'nonsense'.repeat(20));
    expect(await findIndexTree(index, EMPTY_TREE.sha1)).toBeNull();
  });
});
