/** `git add`, and what it could not add. */
import type { Git } from './git.ts';

interface AddProblems {
  /** Nested repositories without a commit: git refuses to add them at all. */
  readonly unborn: readonly string[];
  readonly other: readonly string[];
}

/** Brings the index up to date with the files that `included` names, without those in `leftOut`. */
export async function addFiles(
  git: Git,
  included: readonly string[],
  leftOut: readonly Buffer[],
): Promise<AddProblems> {
  // Names need not be UTF-8, and an argument must be: what was left out for its size is told by another way.
  const { args, stdin } =
    leftOut.length === 0
      ? { args: ['--', ...included], stdin: {} }
      : {
          args: ['--pathspec-from-file=-', '--pathspec-file-nul'],
          stdin: { stdin: pathspecFile(included, leftOut) },
        };
  const first = await git.run(['add', '-A', ...args], { ...stdin, okExitCodes: [0, 1, 128] });
  // Exit 1 without an error says only that an excluded path is ignored as well.
  const isDone = first.exitCode === 0 || (first.exitCode === 1 && !/^(error|fatal): /m.test(first.stderr));
  if (isDone) return { unborn: [], other: unopenedFolders(first.stderr) };
  const second = await git.run(['add', '-A', '--ignore-errors', ...args], { ...stdin, okExitCodes: [0, 1] });
  const errors = second.stderr.split('\n').filter((line) => line.startsWith('error: '));
  const unborn = errors.flatMap(
    (line) => /^error: '(.+)\/' does not have a commit checked out$/.exec(line)?.[1] ?? [],
  );
  const other = errors.filter((line) => !line.endsWith('does not have a commit checked out'));
  return { unborn, other: [...unopenedFolders(second.stderr), ...other] };
}

/** Git only warns of a folder that it may not open, and goes on as if nothing were in it. */
function unopenedFolders(stderr: string): string[] {
  const lines = stderr.split('\n').filter((line) => line.startsWith('warning: could not open directory '));
  return [...new Set(lines)].map((line) => line.slice('warning: '.length));
}

function pathspecFile(included: readonly string[], leftOut: readonly Buffer[]): Buffer {
  const end = Buffer.from([0]);
  const magic = Buffer.from(':(top,exclude,literal)');
  return Buffer.concat([
    ...included.flatMap((pathspec) => [Buffer.from(pathspec), end]),
    ...leftOut.flatMap((name) => [magic, name, end]),
  ]);
}
