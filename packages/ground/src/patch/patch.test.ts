import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createGit, createOwnGitDir, EMPTY_TREE, GitError } from '../index.ts';
import { capturePatch, proveApplies, type CapturedPatch } from './patch.ts';
import { stageWorkspace } from '../staging/stage-workspace.ts';

let root: string;
let workspace: string;
let gitDir: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'caisson-patch-'));
  workspace = join(root, 'files');
  gitDir = join(root, 'git');
  await mkdir(workspace);
});
afterEach(async () => await rm(root, { recursive: true, force: true }));

async function baseline(objectFormat: 'sha1' | 'sha256' = 'sha1'): Promise<string> {
  await createOwnGitDir({ path: gitDir, objectFormat });
  return (await stageWorkspace({ workspace, gitDir, exclude: [], like: EMPTY_TREE[objectFormat] })).tree;
}

async function capture(baselineTree: string): Promise<CapturedPatch> {
  const captured = await capturePatch({ workspace, gitDir, baselineTree, exclude: [] });
  const isProven = await proveApplies({ gitDir, baselineTree, patch: captured.patch, tree: captured.tree });
  expect(isProven).toBe(true);
  return captured;
}

const write = (path: string, bytes: string | Buffer): Promise<void> =>
  writeFile(join(workspace, path), bytes);
const git = (args: string[], cwd: string): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd, encoding: 'utf8' });

describe('capturePatch', () => {
  it('gives back every byte of binary, CRLF, Latin-1, mode, link, deletion, rename, empty and odd names', async () => {
    await write('text', 'one\ntwo\n');
    await write('crlf', 'a\r\nb\r\n');
    await write('gone', 'x');
    await write('old name', 'the same line\n'.repeat(30));
    await write('script', '#!/bin/sh\n');
    await write('becomes-link', 'file');
    await write('.gitattributes', '* text=auto eol=crlf\n*.bin diff=x filter=x\n');
    const tree = await baseline();

    await write('text', 'one\r\nTWO');
    await write('crlf', 'a\nb\r\n');
    await rm(join(workspace, 'gone'));
    await rename(join(workspace, 'old name'), join(workspace, 'new "name"\t\n'));
    await chmod(join(workspace, 'script'), 0o755);
    await rm(join(workspace, 'becomes-link'));
    await symlink('no/where', join(workspace, 'becomes-link'));
    await write('empty', '');
    await write('a.bin', Buffer.from([0, 1, 2, 254, 255, 10, 13, 0]));
    await writeFile(
      Buffer.concat([Buffer.from(`${workspace}/caf`), Buffer.from([0xe9])]),
      Buffer.from([0xe9, 10]),
    );

    const captured = await capture(tree);
    expect(captured.files.map(({ path, status, binary }) => [path, status, binary])).toEqual([
      ['a.bin', 'added', true],
      ['becomes-link', 'type-changed', false],
      ['"caf\\351"', 'added', false],
      ['crlf', 'modified', false],
      ['empty', 'added', false],
      ['gone', 'deleted', false],
      ['new "name"\t\n', 'renamed', false],
      ['script', 'modified', false],
      ['text', 'modified', false],
    ]);
    const blob = createGit({ cwd: workspace, gitDir });
    expect((await blob.run(['cat-file', 'blob', `${captured.tree}:crlf`])).stdout).toEqual(
      Buffer.from('a\nb\r\n'),
    );
  });

  it('counts lines and leaves outputs, .caisson and excluded paths out whatever .gitignore says', async () => {
    await write('text', 'one\n');
    const tree = await baseline();
    for (const folder of ['outputs', '.caisson', 'secret']) {
      await mkdir(join(workspace, folder));
      await write(`${folder}/file`, 'x');
    }
    await write('.gitignore', '!outputs/\n!.caisson/\n');
    await write('text', 'two\nthree\n');
    const captured = await capturePatch({ workspace, gitDir, baselineTree: tree, exclude: ['secret'] });
    expect(captured.files).toEqual([
      { path: '.gitignore', status: 'added', linesAdded: 2, linesRemoved: 0, binary: false },
      { path: 'text', status: 'modified', linesAdded: 2, linesRemoved: 1, binary: false },
    ]);
  });

  it('leaves out what an earlier, wider stage had taken', async () => {
    await mkdir(join(workspace, 'conf'));
    await write('conf/tracked', 'one\n');
    const tree = await baseline();
    await mkdir(join(workspace, 'outputs'));
    await write('outputs/report', 'x');
    await write('conf/tracked', 'two\n');
    await write('conf/new', 'new\n');
    await write('kept', 'y\n');
    await stageWorkspace({ workspace, gitDir, exclude: [], like: tree });
    expect((await capture(tree)).files.map((file) => file.path)).toEqual([
      'conf/new',
      'conf/tracked',
      'kept',
    ]);
    const narrow = { workspace, gitDir, baselineTree: tree, exclude: ['conf'] };
    expect((await capturePatch(narrow)).files.map((file) => file.path)).toEqual(['kept']);
    expect((await capture(tree)).files.map((file) => file.path)).toEqual([
      'conf/new',
      'conf/tracked',
      'kept',
    ]);
  });

  it('takes repositories made inside as files, also one without a commit, and names them', async () => {
    const tree = await baseline();
    for (const name of ['unborn', 'born', 'born/deep']) {
      await mkdir(join(workspace, name));
      git(['init', '-q'], join(workspace, name));
      await write(`${name}/file`, name);
    }
    git(['add', 'file'], join(workspace, 'born'));
    git(['commit', '-qm', 'x'], join(workspace, 'born'));
    const captured = await capture(tree);
    expect(captured.files.map((file) => file.path)).toEqual(['born/deep/file', 'born/file', 'unborn/file']);
    expect([...captured.nested].toSorted()).toEqual(['born', 'born/deep', 'unborn']);
  });

  it('takes a folder in which there is nothing but an empty repository', async () => {
    git(['init', '-q', 'empty'], workspace);
    const captured = await capture(await baseline());
    expect(captured.empty).toBe(true);
  });

  it('notices edits inside a repository that was there before', async () => {
    await mkdir(join(workspace, 'sub'));
    git(['init', '-q'], join(workspace, 'sub'));
    await write('sub/file', 'one\n');
    git(['add', 'file'], join(workspace, 'sub'));
    git(['commit', '-qm', 'x'], join(workspace, 'sub'));
    const tree = await baseline();
    await write('sub/file', 'two\n');
    await write('sub/more', 'new\n');
    const captured = await capture(tree);
    expect(captured.files.map((file) => [file.path, file.status])).toEqual([
      ['sub/file', 'modified'],
      ['sub/more', 'added'],
    ]);
  });

  it('keeps a submodule link that is not checked out, and files put into its place', async () => {
    const tree = await baseline();
    const ours = createGit({ cwd: workspace, gitDir, workTree: workspace });
    const commit = await ours.text(['commit-tree', tree], {
      stdin: 'x',
      config: ['user.name=t', 'user.email=t@t'],
    });
    await ours.run(['update-index', '--add', '--cacheinfo', `160000,${commit},lib`]);
    const linked = await ours.text(['write-tree']);
    await mkdir(join(workspace, 'lib'));
    expect((await capture(linked)).empty).toBe(true);
    await write('lib/file', 'x');
    const filled = await capture(linked);
    expect(filled.files.map((file) => [file.path, file.status])).toEqual([
      ['lib', 'deleted'],
      ['lib/file', 'added'],
    ]);
    await rm(join(workspace, 'lib'), { recursive: true });
    const gone = await capture(linked);
    expect(gone.patch.toString()).toContain(`-Subproject commit ${commit}`);
  });

  it('holds 2,000 files', async () => {
    const tree = await baseline();
    await Promise.all(Array.from({ length: 2000 }, (_, index) => write(`f${index}`, `${index}\n`)));
    expect((await capture(tree)).files).toHaveLength(2000);
  });

  it('works in a sha256 git dir', async () => {
    const tree = await baseline('sha256');
    await write('file', 'x');
    const captured = await capture(tree);
    expect([tree, captured.tree.length]).toEqual([EMPTY_TREE.sha256, 64]);
  });

  it('sees an edit of the same size in the same second, and an untouched folder at once', async () => {
    await write('file', 'one\n');
    const tree = await baseline();
    expect((await capture(tree)).empty).toBe(true);
    for (const text of ['two\n', 'six\n', 'ten\n']) {
      await write('file', text);
      const captured = await capture(tree);
      expect(captured.patch.toString()).toContain(`+${text}`);
    }
  });

  it('starts no process for an empty workspace that stayed empty', async () => {
    await createOwnGitDir({ path: gitDir, objectFormat: 'sha1' });
    const nowhere = { workspace, gitDir: join(root, 'absent'), baselineTree: EMPTY_TREE.sha1, exclude: [] };
    await mkdir(join(workspace, '.caisson'));
    expect(await capturePatch(nowhere)).toMatchObject({ empty: true, files: [] });
  });

  it('names files it cannot take and takes the rest', async () => {
    await write('pipe', 'x');
    const tree = await baseline();
    await rm(join(workspace, 'pipe'));
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
    await write('other', 'y');
    const captured = await capturePatch({ workspace, gitDir, baselineTree: tree, exclude: [] });
    expect(captured.files.map((file) => file.path)).toContain('other');
  });

  it('names folders that may not be opened, keeps what was known of them, and opens its own', async () => {
    await mkdir(join(workspace, 'known'));
    await write('known/file', 'x');
    const tree = await baseline();
    await mkdir(join(workspace, 'hidden'));
    await write('hidden/file', 'x');
    await write('other', 'y');
    const isRoot = process.getuid?.() === 0;
    if (isRoot) execFileSync('chown', ['-R', '65534:65534', root]); // root may open everything
    for (const path of ['known', 'hidden', '.']) await chmod(join(workspace, path), 0);
    if (isRoot) process.seteuid?.(65_534);
    try {
      const captured = await capturePatch({ workspace, gitDir, baselineTree: tree, exclude: [] });
      expect(captured.files.map((file) => file.path)).toEqual(['other']);
      expect(captured.warnings).toEqual([
        "could not open directory 'hidden/': Permission denied",
        "could not open directory 'known/': Permission denied",
      ]);
      expect(
        (await capturePatch({ workspace, gitDir, baselineTree: tree, exclude: [] })).warnings,
      ).toHaveLength(2);
    } finally {
      for (const path of ['known', 'hidden']) await chmod(join(workspace, path), 0o700);
      if (isRoot) process.seteuid?.(0);
    }
  });

  it('is not held up by pipes in the place of files that git reads', { timeout: 20_000 }, async () => {
    await write('kept', 'x');
    await write('.gitignore', 'ignored\n');
    const tree = await baseline();
    await rm(join(workspace, '.gitignore'));
    await mkdir(join(workspace, 'sub', '.git'), { recursive: true });
    const pipes = ['.gitignore', 'sub/.gitattributes', 'sub/.git/HEAD', 'own-pipe'];
    execFileSync('mkfifo', pipes, { cwd: workspace });
    await write('sub/work', 'done');

    const captured = await capture(tree);

    expect(captured.files.map(({ path, status }) => `${status} ${path}`)).toEqual([
      'deleted .gitignore',
      'added sub/work',
    ]);
    expect(captured.warnings).toHaveLength(3);
    expect(existsSync(join(workspace, 'own-pipe'))).toBe(true);
  });

  it('does not prove a patch that was changed', async () => {
    await write('file', 'one\n');
    const tree = await baseline();
    await write('file', 'two\n');
    const { patch, tree: after } = await capturePatch({ workspace, gitDir, baselineTree: tree, exclude: [] });
    const forged = Buffer.from(patch.toString().replace('+two', '+six'));
    expect(await proveApplies({ gitDir, baselineTree: tree, patch: forged, tree: after })).toBe(false);
    expect(
      await proveApplies({ gitDir, baselineTree: tree, patch: patch.subarray(0, -3), tree: after }),
    ).toBe(false);
  });

  it('runs no filter, hook, textconv or fsmonitor that the workspace brings', async () => {
    const marker = join(root, 'ran');
    const evil = join(root, 'evil');
    await writeFile(evil, `#!/bin/sh\necho "$0" >> ${marker}\ncat\n`, { mode: 0o755 });
    git(['init', '-q'], workspace);
    const settings = [
      'core.fsmonitor',
      'filter.x.clean',
      'filter.x.smudge',
      'filter.x.process',
      'diff.x.textconv',
    ];
    for (const key of [...settings, 'diff.x.command', 'diff.external', 'core.pager', 'alias.add']) {
      git(['config', key, key === 'alias.add' ? `!${evil}` : evil], workspace);
    }
    await write('.gitattributes', '* filter=x diff=x\n');
    await mkdir(join(workspace, '.git', 'hooks'), { recursive: true });
    for (const hook of ['post-index-change', 'pre-commit', 'reference-transaction', 'post-checkout']) {
      await writeFile(join(workspace, '.git', 'hooks', hook), await readFile(evil), { mode: 0o755 });
    }
    const tree = await baseline();
    await write('file', 'x\n');
    expect((await capture(tree)).files.map((file) => file.path)).toEqual(['file']);
    expect(existsSync(marker)).toBe(false);
    const theirs = createGit({ cwd: workspace, gitDir: join(workspace, '.git'), foreign: true });
    await theirs.run(['update-ref', 'refs/caisson/x', await commitOf(tree)]).catch(() => undefined);
    await theirs.run(['for-each-ref']);
    expect(existsSync(marker)).toBe(false);
    await expect(theirs.run(['add', '-A'])).rejects.toThrow(GitError);
  });
});

async function commitOf(tree: string): Promise<string> {
  const ours = createGit({ cwd: gitDir, gitDir });
  return await ours.text(['commit-tree', tree], { stdin: 'x', config: ['user.name=t', 'user.email=t@t'] });
}
