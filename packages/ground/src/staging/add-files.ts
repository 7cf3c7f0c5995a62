/** `git add`, and what it could not add. */
import { findDiskTrouble } from '../platform/index.ts';
import { GitError, type Git } from '../git/index.ts';

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
  // Names need not be UTF-8, and an argument must be: files left out for their size are passed in another way.
  const { args, stdin } =
    leftOut.length === 0
      ? { args: ['--', ...included], stdin: {} }
      : {
          args: ['--pathspec-from-file=-', '--pathspec-file-nul'],
          stdin: { stdin: pathspecFile(included, leftOut) },
        };
  const first = await git.run(['add', '-A', ...args], { ...stdin, okExitCodes: [0, 1, 128] });
  // Exit 1 without an error means only that an excluded path is ignored as well.
  const isDone = first.exitCode === 0 || (first.exitCode === 1 && !/^(error|fatal): /m.test(first.stderr));
  if (isDone) return { unborn: [], other: unopenedFolders(first.stderr) };
  const second = await git.run(['add', '-A', '--ignore-errors', ...args], { ...stdin, okExitCodes: [0, 1] });
  const errors = second.stderr.split('\n').filter((line) => line.startsWith('error: '));
  refuseLoss(errors, git.objects());
  const unborn = errors.flatMap(
    (line) => /^error: '(.+)\/' does not have a commit checked out$/.exec(line)?.[1] ?? [],
  );
  const isFlattened = (line: string): boolean =>
    line.endsWith('does not have a commit checked out') && !line.includes('\u{fffd}');
  const other = errors.filter((line) => !isFlattened(line)); // of a name that is not UTF-8 git gives no more than this
  return { unborn, other: [...unopenedFolders(second.stderr), ...other] };
}

/**
 * A file that cannot be read may be intended, and is reported. A file that was read and could not be stored is lost
 * work: the store is full, broken, or another user's.
 */
function refuseLoss(errors: readonly string[], place: string): void {
  const at = errors.findIndex((line) => line.endsWith(': failed to insert into database'));
  if (at === -1) return;
  const why = errors.slice(Math.max(at - 1, 0), at + 1).map((line) => line.slice('error: '.length));
  const trouble = findDiskTrouble(errors.join('\n'), place);
  const said = `git add could not store what it read: ${why.join('; ')}.`;
  throw new GitError(trouble === null ? said : `${trouble.what}: ${said}`, errors.join('\n'), {
    remedy: trouble?.remedy ?? `Check that all of ${place} belongs to this user.`,
  });
}

/** Git only warns about a folder that it may not open, and continues as if it were empty. */
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
