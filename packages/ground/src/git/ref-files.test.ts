import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readRefFiles, writeRefFiles } from './ref-files.ts';

function createRepository() {
  const root = mkdtempSync(join(tmpdir(), 'caisson-refs-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
      cwd: root,
      encoding: 'utf8',
    }).trim();
  git('init', '-q', '-b', 'main');
  git('commit', '-q', '--allow-empty', '-m', 'first');
  const list = (): { name: string; objectId: string }[] =>
    git('for-each-ref', '--format=%(objectname) %(refname)')
      .split('\n')
      .map((line) => ({ name: line.slice(41), objectId: line.slice(0, 40) }));
  return { git, list, gitDir: join(root, '.git'), commit: git('rev-parse', 'HEAD') };
}

describe('reading refs as files', () => {
  it('finds what git lists: loose, packed, annotated and symbolic ones', async () => {
    const { git, list, gitDir, commit } = createRepository();
    git('tag', '-a', 'v1', '-m', 'one');
    git('branch', 'topic/a');
    git('update-ref', 'refs/remotes/origin/main', commit);
    git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main');
    git('pack-refs', '--all');
    git('commit', '-q', '--allow-empty', '-m', 'second'); // main is loose again, and newer
    git('branch', 'Topic-b');
    expect(await readRefFiles(gitDir, 'refs/caisson')).toEqual(list());
  });

  it('leaves one namespace out', async () => {
    const { git, gitDir, commit } = createRepository();
    git('update-ref', 'refs/caisson/packed/1', commit);
    git('pack-refs', '--all');
    git('update-ref', 'refs/caisson/loose/1', commit);
    expect(await readRefFiles(gitDir, 'refs/caisson')).toEqual([
      { name: 'refs/heads/main', objectId: commit },
    ]);
  });

  it('finds a ref that is packed while it reads', async () => {
    const { git, list, gitDir, commit } = createRepository();
    git('update-ref', 'refs/heads/topic/a', commit);
    const reading = readRefFiles(gitDir, 'refs/caisson');
    git('pack-refs', '--all', '--prune'); // before anything that was read is seen
    expect(await reading).toEqual(list());
    expect(existsSync(join(gitDir, 'refs/heads/main'))).toBe(false);
  });

  it('gives up on what only git can judge', async () => {
    const { gitDir, git } = createRepository();
    writeFileSync(join(gitDir, 'refs/heads/broken'), '');
    expect(await readRefFiles(gitDir, 'refs/caisson')).toBeNull();
    rmSync(join(gitDir, 'refs/heads/broken'));
    symlinkSync('main', join(gitDir, 'refs/heads/linked'));
    expect(await readRefFiles(gitDir, 'refs/caisson')).toBeNull();
    rmSync(join(gitDir, 'refs/heads/linked'));
    git('symbolic-ref', 'refs/heads/dangling', 'refs/heads/none');
    expect(await readRefFiles(gitDir, 'refs/caisson')).toBeNull();
  });
});

describe('writing refs as files', () => {
  it('gives refs that git reads, over loose and packed values', async () => {
    const { git, gitDir, commit } = createRepository();
    const tree = git('rev-parse', 'HEAD^{tree}');
    git('update-ref', 'refs/caisson/run/1', commit);
    git('pack-refs', '--all');
    const refs = new Map([
      ['refs/caisson/run/1', tree],
      ['refs/caisson/run/base/1', commit],
    ]);
    expect(await writeRefFiles(gitDir, refs)).toBe(true);
    expect(git('rev-parse', ...refs.keys()).split('\n')).toEqual([...refs.values()]);
    expect(git('fsck', '--strict')).toBe('');
    expect(git('update-ref', 'refs/caisson/run/1', commit, tree)).toBe('');
  });

  it('replaces a symbolic ref instead of writing where it leads', async () => {
    const { git, gitDir, commit } = createRepository();
    const tree = git('rev-parse', 'HEAD^{tree}');
    git('symbolic-ref', 'refs/caisson/run/1', 'refs/heads/main');
    expect(await writeRefFiles(gitDir, new Map([['refs/caisson/run/1', tree]]))).toBe(true);
    expect(git('rev-parse', 'main', 'refs/caisson/run/1').split('\n')).toEqual([commit, tree]);
  });

  it('writes nothing where a lock or a folder is in the way', async () => {
    const { git, list, gitDir, commit } = createRepository();
    const before = list();
    mkdirSync(join(gitDir, 'refs/caisson/run'), { recursive: true });
    writeFileSync(join(gitDir, 'refs/caisson/run/2.lock'), '');
    const refs = new Map([
      ['refs/caisson/run/1', commit],
      ['refs/caisson/run/2', commit],
    ]);
    expect(await writeRefFiles(gitDir, refs)).toBe(false);
    expect(existsSync(join(gitDir, 'refs/caisson/run/1.lock'))).toBe(false);
    expect(await writeRefFiles(gitDir, new Map([['refs/heads/main/below', commit]]))).toBe(false);
    expect(await writeRefFiles(gitDir, new Map([['refs/caisson/../../x', commit]]))).toBe(false);
    expect(list()).toEqual(before);
    expect(git('fsck', '--strict')).toBe('');
  });
});
