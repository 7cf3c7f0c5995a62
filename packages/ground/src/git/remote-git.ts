/** Git's three commands that reach a remote, each bounded (rules R1 to R4 of remote-profile.ts). */
import { CaissonError, definedOnly, type PushProblem } from '@caisson/protocol';

import { runBounded, type BoundedCommandResult } from '../processes/index.ts';
import { limitFileSize } from '../platform/index.ts';
import { findGit } from './git-hardening.ts';
import { briefly } from './git.ts';
import { isPlainRef } from './ref-files.ts';
import type { RemoteAddress } from './remote-address.ts';
import { argsFor, credentialOf, environmentFor, redactorOf, type RemoteAccess } from './remote-profile.ts';

export interface RemoteGitOptions {
  readonly remote: RemoteAddress;
  readonly access: RemoteAccess;
  /** A folder of ours; git looks for a repository in no folder above it. */
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** A remote could not be reached, or refused. */
export class RemoteError extends CaissonError {
  readonly code = 'REMOTE_FAILED';
  readonly problem: PushProblem;
  override readonly retryable: boolean;

  constructor(
    problem: PushProblem,
    message: string,
    { mayPass = false, ...options }: { remedy?: string; mayPass?: boolean } = {},
  ) {
    super(message, options);
    this.problem = problem;
    this.retryable = mayPass || problem === 'unreachable' || problem === 'timeout';
  }
}

export interface RemoteRefs {
  /** Full name → object id; a tag also under its name with `^{}`, as the commit it names. */
  readonly ids: ReadonlyMap<string, string>;
  /** The branch that HEAD of the remote names; null if it names none, or says what is no name of a ref. */
  readonly headRef: string | null;
}

const MAX_LISTED_BYTES = 16 * 1024 * 1024;
const MAX_SAID_BYTES = 1024 * 1024;

/** What the remote has under these names. */
export async function listRemoteRefs(
  options: RemoteGitOptions,
  names: readonly string[],
): Promise<RemoteRefs> {
  const args = ['ls-remote', '--symref', '--', options.remote.url, ...names];
  const result = await run(options, { args, maxOutputBytes: MAX_LISTED_BYTES });
  demandSuccess(options, 'read', result);
  const ids = new Map<string, string>();
  let headRef: string | null = null;
  for (const line of result.stdout.toString('utf8').split('\n')) {
    const [value = '', name = ''] = line.split('\t');
    const target = /^ref: (.*)$/.exec(value)?.[1];
    if (target !== undefined && name === 'HEAD') headRef = isPlainRef(target) ? target : null;
    else if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value)) ids.set(name, value);
  }
  return { ids, headRef };
}

/**
 * The whole history, which is also the default. From a server that only has the files of a repository git would take objects
 * one by one, unchecked and without a limit in total; for a depth it refuses such a server (R4).
 */
const REFUSES_PLAIN_FILES = `--depth=${2 ** 31 - 1}`;

/** Fetches what `source` (a name, or an object id) names there into a ref of ours, whole or not at all. */
export async function fetchRef(
  options: RemoteGitOptions,
  { gitDir, source, ref, maxBytes }: { gitDir: string; source: string; ref: string; maxBytes: number },
): Promise<void> {
  const flags = ['--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--no-auto-maintenance'];
  const args = [
    'fetch',
    '--quiet',
    '--force',
    '--refmap=',
    ...flags,
    ...(options.remote.protocol.startsWith('http') ? [REFUSES_PLAIN_FILES] : []),
    '--',
    options.remote.url,
    `${source}:${ref}`,
  ];
  const result = await run(options, { args, gitDir, maxFileBytes: maxBytes });
  demandSuccess(options, 'fetched', result);
}

/**
 * Pushes a commit as a branch, by compare-and-swap: only where the branch is missing (`expected` null) or at `expected`,
 * which must be in the history of the commit. A branch that has the commit already is a success. Nothing is overwritten.
 */
export async function pushCommit(
  options: RemoteGitOptions,
  {
    gitDir,
    commit,
    branch,
    expected,
  }: { gitDir: string; commit: string; branch: string; expected: string | null },
): Promise<void> {
  const ref = `refs/heads/${branch}`;
  // The lease makes it a compare-and-swap: without it git moves any branch that the commit descends from.
  const flags = ['--porcelain', '--no-verify', '--no-signed', `--force-with-lease=${ref}:${expected ?? ''}`];
  const args = ['push', ...flags, '--', options.remote.url, `${commit}:${ref}`];
  const result = await run(options, { args, gitDir });
  const refused = /^!\t[^\t]*\t(.*)$/m.exec(result.stdout.toString('utf8'))?.[1];
  if (refused === undefined) return demandSuccess(options, 'pushed to', result);
  const said = sayings(result.stderr.toString('utf8'));
  if (IS_TAKEN.test(refused))
    throw new RemoteError(
      'taken',
      `${options.remote.url} has a branch ${branch} with other work: ${refused}`,
    );
  const why = [refused, ...said].join('; ');
  throw new RemoteError('rejected', `${options.remote.url} refused the branch ${branch}: ${why}`, {
    mayPass: IS_BUSY.test(refused),
  });
}

const IS_TAKEN = /stale info|fetch first|non-fast-forward|already exists|incorrect old value|but expected/;

/** A `git gc` of the remote took what was just sent, or another push has a lock there. */
const IS_BUSY =
  /missing necessary objects|unpacker error|cannot lock ref|unable to (?:create|migrate)|failed to update ref/;

interface Order {
  readonly args: readonly string[];
  readonly gitDir?: string;
  /** The kernel ends a program that writes a larger file (R4). */
  readonly maxFileBytes?: number;
  readonly maxOutputBytes?: number;
}

async function run(options: RemoteGitOptions, order: Order): Promise<BoundedCommandResult> {
  const { remote, access, cwd, timeoutMs, signal } = options;
  const git = [...argsFor(remote, access), ...order.args];
  const { maxFileBytes } = order;
  const [file = '', ...args] =
    maxFileBytes === undefined ? [findGit(), ...git] : limitFileSize([findGit(), ...git], maxFileBytes);
  const result = await runBounded({
    file,
    args,
    cwd,
    env: {
      ...environmentFor(remote, access),
      GIT_CEILING_DIRECTORIES: cwd.slice(0, cwd.lastIndexOf('/')),
      ...definedOnly({ GIT_DIR: order.gitDir }),
    },
    timeoutMs,
    endsWithUs: true,
    maxOutputBytes: order.maxOutputBytes ?? MAX_SAID_BYTES,
    ...definedOnly({ signal, secret: credentialOf(access) }),
  });
  const { redactBytes } = redactorOf(access);
  return { ...result, stdout: redactBytes(result.stdout), stderr: redactBytes(result.stderr) };
}

function demandSuccess(
  { remote, timeoutMs }: RemoteGitOptions,
  what: string,
  result: BoundedCommandResult,
): void {
  if (result.exitCode === 0 && !result.stdoutTruncated) return;
  if (result.timedOut)
    throw new RemoteError(
      'timeout',
      `${remote.url} could not be ${what} within ${Math.round(timeoutMs / 1000)} s.`,
    );
  const stderr = result.stderr.toString('utf8');
  const [pattern, problem, remedy] = PROBLEMS.find(([candidate]) => candidate.test(stderr)) ?? [
    null,
    'unknown' as const,
  ];
  const said = briefly(stderr);
  const cause = stderr.split('\n').find((line) => pattern?.test(line) === true && !said.includes(line));
  const detail = [said, ...(cause === undefined ? [] : [cause.trim()]), ...sayings(stderr)].join('; ');
  throw new RemoteError(problem, `${remote.url} could not be ${what}: ${detail}`, definedOnly({ remedy }));
}

/** In the order in which they are looked for, each with its remedy. */
const PROBLEMS: readonly (readonly [RegExp, PushProblem, string?])[] = [
  [
    /Host key verification failed|HOST IDENTIFICATION HAS CHANGED|host key is known/,
    'host-key',
    'Add the key of the host to your known_hosts after you have checked it: ssh-keyscan HOST.',
  ],
  [
    /Authentication failed|could not read (?:Username|Password)|prompts disabled|returned error: 40[13]|Permission denied \(/,
    'credentials',
    'Say where a token is that may do this: --git-token env:GIT_TOKEN; over ssh, load a key that the remote knows.',
  ],
  [
    /dumb http transport/,
    'unknown',
    "Use an address whose server speaks git's protocol: what others send can be neither checked nor limited.",
  ],
  [/resolve host/, 'unreachable'],
  // Many services say so, too, of what the user may not see.
  [
    /not found|could not be found|does not appear to be a git/,
    'not-found',
    'Check the address, and that your token or key may read the repository.',
  ],
  [
    /Connection (?:refused|reset|closed|timed out)|[Ff]ailed to connect|Couldn't connect|hung up|early EOF|unexpected disconnect|RPC failed|Empty reply|unable to access|Could not read from remote|too slow|No route to host/,
    'unreachable',
  ],
];

const MAX_SAYINGS = 3;

/** What the remote says beside git's own message; a stranger wrote it. */
function sayings(stderr: string): string[] {
  const lines = stderr.match(/^remote: .*$/gm) ?? [];
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== 'remote:')
    .slice(0, MAX_SAYINGS);
}
