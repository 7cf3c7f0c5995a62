/**
 * Git, with every way in which a repository can make git run code switched off.
 *
 * G1  No system or global config, no hooks, no fsmonitor, no pager, no editor, no prompt, no network, no automatic
 *     maintenance. Command-line config outranks the repository's own.
 * G2  Filters, textconv and merge drivers are chosen by attributes, which no command-line switch can turn off. So
 *     commands that read or write file contents run only in our own git dir, whose `info/attributes` outranks every
 *     `.gitattributes` (see own-git-dir.ts). In a foreign git dir (the user's) only a closed list of commands that
 *     never read contents may run.
 * G3  Where an index has a link to another repository, git asks that repository for its status, and its settings, which
 *     an agent may have written, can name programs. So git finds no other git to start, except for the few commands that
 *     need one and ask for no status.
 */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError, definedOnly } from '@caisson/protocol';

import { findDiskTrouble } from '../platform/index.ts';
import { runBounded, streamCommand, type StreamedCommandResult } from '../processes/index.ts';
import {
  findGit,
  FOREIGN_COMMANDS,
  HARDENED_ARGS,
  HARDENED_ENV,
  NO_OTHER_GIT,
  STARTS_GIT,
} from './git-hardening.ts';

export interface GitOptions {
  readonly cwd: string;
  /** Never found by walking up: a folder that is not named does not exist. */
  readonly gitDir?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  readonly objectDir?: string;
  /** More object folders to read from. */
  readonly alternates?: readonly string[];
  /** True for a git dir that is not ours: only commands that never read file contents are allowed (G2). */
  readonly foreign?: boolean;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface GitRunOptions {
  readonly stdin?: Buffer | string;
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
  /** Exit codes that are answers rather than failures. Default: 0 alone. */
  readonly okExitCodes?: readonly number[];
  /** More `key=value` config for this call. */
  readonly config?: readonly string[];
}

export interface GitOutput {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A git that runs no other program. */
export interface Git {
  /** Where its objects are. */
  objects(): string;
  /** Runs one command; throws {@link GitError} unless the exit code is one of `okExitCodes`. */
  run(args: readonly string[], options?: GitRunOptions): Promise<GitOutput>;
  /** The same, with stdout as text without its last newline. */
  text(args: readonly string[], options?: GitRunOptions): Promise<string>;
  /**
   * The lines of stdout while git writes them: git waits for the reader, so no more than a pipe of them is in memory. Throws
   * {@link GitError} after the last line that a failed git wrote. A reader that stops early ends git. The time limit is
   * one of each wait for git.
   */
  lines(args: readonly string[], options?: GitLinesOptions): AsyncGenerator<string, void>;
}

export type GitLinesOptions = Omit<GitRunOptions, 'maxOutputBytes'>;

/** A git command failed, timed out or printed more than its limit. */
export class GitError extends CaissonError {
  readonly code = 'GIT_FAILED';
  readonly stderr: string;

  constructor(message: string, stderr: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(message, options);
    this.stderr = stderr;
  }
}

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const MAX_LINE_BYTES = 1024 * 1024;
const STDERR_IN_MESSAGE = 400;
const LINE_END = 10;

/** Opens git on exactly the named folders. Nothing runs until `run` or `lines` is called. */
export function createGit(options: GitOptions): Git {
  const run = (args: readonly string[], call: GitRunOptions = {}): Promise<GitOutput> =>
    runToEnd(options, args, call);
  return {
    objects: () => findObjects(options),
    run,
    text: async (args, call) => (await run(args, call)).stdout.toString('utf8').replace(/\n$/, ''),
    lines: (args, call = {}) => walkLines(options, args, call),
  };
}

async function runToEnd(
  options: GitOptions,
  args: readonly string[],
  call: GitRunOptions,
): Promise<GitOutput> {
  const maxOutputBytes = call.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES;
  const result = await runBounded({ ...commandOf(options, args, call), maxOutputBytes });
  const { exitCode, stderr } = checkEnding({ options, args, call }, result);
  if (result.stdoutTruncated) {
    throw new GitError(`git ${args[0]} wrote more than ${maxOutputBytes} bytes.`, stderr, {
      remedy: 'Keep large generated files out of the workspace, or list them in .gitignore.',
    });
  }
  return { exitCode, stdout: result.stdout, stderr };
}

async function* walkLines(
  options: GitOptions,
  args: readonly string[],
  call: GitLinesOptions,
): AsyncGenerator<string, void> {
  const command = { ...commandOf(options, args, call), maxErrorBytes: MAX_LINE_BYTES };
  const pieces = streamCommand(command, (result) => void checkEnding({ options, args, call }, result));
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let begin = 0;
    for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, begin)) {
      yield bytes.toString('utf8', begin, end);
      begin = end + 1;
    }
    rest = bytes.subarray(begin);
    if (rest.length > MAX_LINE_BYTES)
      throw new GitError(`git ${args[0]} wrote a line of more than ${MAX_LINE_BYTES} bytes.`, '');
  }
  if (rest.length > 0) yield rest.toString('utf8');
}

/** One command, without the limits on its output. */
function commandOf(options: GitOptions, args: readonly string[], call: GitLinesOptions) {
  refuseContentsOfForeign(options, args);
  const env = environmentOf(options);
  const config = (call.config ?? []).flatMap((entry) => ['-c', entry]);
  return {
    file: findGit(),
    args: ['--no-pager', ...HARDENED_ARGS, ...config, ...args],
    cwd: options.cwd,
    env: STARTS_GIT.has(args[0] ?? '') ? env : { ...env, ...NO_OTHER_GIT },
    ...definedOnly({ stdin: call.stdin, signal: options.signal }),
    timeoutMs: call.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  };
}

interface Called {
  readonly options: GitOptions;
  readonly args: readonly string[];
  readonly call: GitLinesOptions;
}

function checkEnding(
  { options, args, call }: Called,
  result: StreamedCommandResult,
): Omit<GitOutput, 'stdout'> {
  const stderr = result.stderr.toString('utf8');
  const { exitCode } = result;
  if (exitCode === null || !(call.okExitCodes ?? [0]).includes(exitCode))
    throw failed(args, result, stderr, options);
  return { exitCode, stderr };
}

function environmentOf(options: GitOptions): Record<string, string> {
  const env: Record<string, string> = { ...HARDENED_ENV };
  if (options.gitDir !== undefined) env['GIT_DIR'] = options.gitDir;
  // Whatever is written into our git dir, no file in it names another one whose config counts.
  if (options.gitDir !== undefined && options.foreign !== true) env['GIT_COMMON_DIR'] = options.gitDir;
  if (options.workTree !== undefined) env['GIT_WORK_TREE'] = options.workTree;
  if (options.indexFile !== undefined) env['GIT_INDEX_FILE'] = options.indexFile;
  if (options.objectDir !== undefined) env['GIT_OBJECT_DIRECTORY'] = options.objectDir;
  if (options.alternates !== undefined && options.alternates.length > 0) {
    env['GIT_ALTERNATE_OBJECT_DIRECTORIES'] = options.alternates.map(quoteAlternate).join(':');
  }
  return env;
}

/** The variable is a colon-separated list in which a quoted entry may hold any byte. */
function quoteAlternate(path: string): string {
  return /[:"\\]/.test(path) ? `"${path.replace(/["\\]/g, (found) => `\\${found}`)}"` : path;
}

function refuseContentsOfForeign(options: GitOptions, args: readonly string[]): void {
  const command = args[0] ?? '';
  const isOurs = options.foreign !== true && options.gitDir !== undefined;
  if (isOurs || FOREIGN_COMMANDS.has(command)) return;
  throw new GitError(`git ${command} may not run in a git dir that is not ours.`, '', {
    remedy: 'This is a bug in Caisson: use our own git dir for commands that read file contents.',
  });
}

function failed(
  args: readonly string[],
  result: { exitCode: number | null; timedOut: boolean; aborted: boolean; signal: string | null },
  stderr: string,
  options: GitOptions,
): GitError {
  const how = result.timedOut
    ? 'ran out of time'
    : result.aborted
      ? 'was aborted'
      : result.exitCode === null
        ? `was killed by ${result.signal ?? 'a signal'}`
        : `exited with ${result.exitCode}`;
  const said = `git ${args[0]} ${how}: ${briefly(stderr)}`;
  const trouble = findDiskTrouble(stderr, placeOf(stderr, options));
  if (trouble === null) return new GitError(said, stderr);
  return new GitError(`${trouble.what}: ${said}.`, stderr, { remedy: trouble.remedy });
}

/** Where git could not write: into the work tree, or into its own folder. */
function placeOf(stderr: string, options: GitOptions): string {
  const { workTree } = options;
  const isOfFiles = /unable to (?:write|create|unlink) (?:new )?(?:file|symlink)|could not create/.test(
    stderr,
  );
  return (isOfFiles ? workTree : undefined) ?? findObjects(options);
}

/** The objects of our git dir are in another one. */
function findObjects({ cwd, gitDir, objectDir }: GitOptions): string {
  const named = objectDir ?? (gitDir === undefined ? cwd : join(gitDir, 'objects'));
  try {
    return realpathSync(named);
  } catch {
    return named; // missing, and the command failed because of that
  }
}

/** Git's message, shortened: the error without its hints, if there is one. */
export function briefly(stderr: string): string {
  const complaints = stderr.match(/^(?:error|fatal): .*$/gm);
  const text = (complaints ?? [stderr.trim()]).join('\n');
  return text.length > STDERR_IN_MESSAGE ? `${text.slice(0, STDERR_IN_MESSAGE)}…` : text || 'no message';
}
