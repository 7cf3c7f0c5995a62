import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { createGit, GitError } from './git.ts';

const COUNT = 50_000;
const nameOf = (number: number): string => `refs/many/${String(number).padStart(8, '0')}`;

/** A repository with many refs, which git has in one file. */
function createRepository(): { gitDir: string; packed: string; id: string } {
  const gitDir = mkdtempSync(join(tmpdir(), 'caisson-lines-'));
  onTestFinished(() => rmSync(gitDir, { recursive: true }));
  const git = (input: string, ...args: string[]): string =>
    execFileSync('git', ['--git-dir', gitDir, ...args], { input, encoding: 'utf8' }).trim();
  git('', 'init', '--bare', '--quiet', gitDir);
  const id = git('content', 'hash-object', '-w', '--stdin');
  const packed = join(gitDir, 'packed-refs');
  const lines = Array.from({ length: COUNT }, (_, number) => `${id} ${nameOf(number)}\n`);
  appendFileSync(packed, ['# pack-refs with: peeled fully-peeled sorted \n', ...lines].join(''));
  return { gitDir, packed, id };
}

const listRefs = (gitDir: string): AsyncGenerator<string, void> =>
  createGit({ cwd: gitDir, gitDir, foreign: true }).lines([
    'for-each-ref',
    '--format=%(objectname) %(refname)',
  ]);

/** Programs that this process started and that have not ended. */
const ownGits = (): string[] =>
  readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return new RegExp(`\\(git\\) [^Z] ${process.pid} `).test(readFileSync(`/proc/${name}/stat`, 'utf8'));
    } catch {
      return false;
    }
  });

it('every line arrives whole and in order, wherever the pieces are cut', async () => {
  const { gitDir, id } = createRepository();
  let number = 0;
  for await (const line of listRefs(gitDir)) {
    if (line !== `${id} ${nameOf(number)}`) expect(line).toBe(`${id} ${nameOf(number)}`);
    number += 1;
  }
  expect(number).toBe(COUNT);
});

it('a last line without an end is a line, and no output is none', async () => {
  const { gitDir, id } = createRepository();
  const git = createGit({ cwd: gitDir, gitDir });
  expect(await Array.fromAsync(git.lines(['cat-file', 'blob', id]))).toEqual(['content']);
  expect(await Array.fromAsync(git.lines(['for-each-ref', 'refs/none/']))).toEqual([]);
});

it('a git that fails after many lines is an error of its reader, with what git said', async () => {
  const { gitDir, packed } = createRepository();
  appendFileSync(packed, 'this is no ref\n');
  const reading = Array.fromAsync(listRefs(gitDir));
  await expect(reading).rejects.toThrow(GitError);
  await expect(reading).rejects.toThrow(/for-each-ref exited with 128: .*this is no ref/s);
});

it('a reader that leaves early leaves no git', async () => {
  const { gitDir } = createRepository();
  for await (const line of listRefs(gitDir)) {
    expect(line).toContain(nameOf(0));
    expect(ownGits(), 'git waits for its reader').toHaveLength(1);
    break;
  }
  expect(ownGits()).toEqual([]);
});

it('a command that reads contents is refused in a git dir that is not ours', async () => {
  const { gitDir, id } = createRepository();
  const git = createGit({ cwd: gitDir, gitDir, foreign: true });
  await expect(git.lines(['diff', id]).next()).rejects.toThrow('may not run in a git dir that is not ours');
});
