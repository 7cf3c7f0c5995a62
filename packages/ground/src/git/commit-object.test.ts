import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeCommit } from './commit-object.ts';

test.each(['sha1', 'sha256'])(
  'a commit is the one that git itself makes, in a store of %s',
  async (format) => {
    const folder = mkdtempSync(join(tmpdir(), 'caisson-commit-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const at = new Date(1_700_000_000_000);
    const date = `${at.getTime() / 1000} ${offsetOf(at)}`;
    const env = {
      ...process.env,
      ...{ GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@example.invalid', GIT_AUTHOR_DATE: date },
      ...{ GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@example.invalid', GIT_COMMITTER_DATE: date },
    };
    const git = (args: readonly string[], input = ''): string =>
      execFileSync('git', ['-C', folder, ...args], { env, input, encoding: 'utf8' }).trim();
    git(['init', '-q', `--object-format=${format}`]);
    const tree = git(['mktree']);
    const message = 'some words – ü\n';
    const first = git(['commit-tree', tree], message);
    const second = git(['commit-tree', tree, '-p', first], message);
    const merge = git(['commit-tree', tree, '-p', first, '-p', second, '-p', first], message);
    git(['prune', '--expire=now']);
    const content = { tree, by: 'A <a@example.invalid>', message, at };
    const objects = join(folder, '.git/objects');
    git(['mktree']);
    expect(await writeCommit(objects, { ...content, parents: [] })).toBe(first);
    expect(await writeCommit(objects, { ...content, parents: [first] })).toBe(second);
    expect(await writeCommit(objects, { ...content, parents: [first, second, first] })).toBe(merge);
    git(['update-ref', 'refs/heads/made', merge]);
    expect(git(['fsck', '--strict', '--no-dangling'])).toBe('');
  },
);

/** Told to git by another way than ours. */
function offsetOf(at: Date): string {
  return execFileSync('date', ['-d', `@${at.getTime() / 1000}`, '+%z'], { encoding: 'utf8' }).trim();
}
