/** The user's own git settings: read, never applied. */
import { join } from 'node:path';
import { readFileCapped } from '../files/index.ts';
import { isErrno } from '../platform/index.ts';
import { MINIMAL_COMMAND_ENV, runBounded } from '../processes/index.ts';
import { parseConfigText } from './config-text.ts';
import { briefly, GitError } from './git.ts';
import { findGit } from './git-hardening.ts';

/**
 * The settings the user's own git would see for a repository: system, global and local. Listing runs no code;
 * no other command may be run with this environment. Where the global ignore rules are is the user's own to say: the
 * agent gets their text, and a repository could name any file.
 */
export async function readUserGitConfig(options: UserConfigPlace): Promise<ReadonlyMap<string, string>> {
  return (await readPlainFiles(options)) ?? (await askGit(options));
}

export interface UserConfigPlace {
  readonly gitDir: string;
  /** Differs from `gitDir` in a linked worktree. */
  readonly commonDir: string;
  readonly cwd: string;
  readonly home: string;
  readonly xdgConfigHome: string;
}

/** Where git of the distribution looks; one that was built elsewhere has its own place. */
const SYSTEM_FILES: Readonly<Record<string, string>> = {
  '/usr/bin/git': '/etc/gitconfig',
  '/bin/git': '/etc/gitconfig',
};

/** Without a process, as most users' settings allow it; null where they include others, or only git knows what counts. */
async function readPlainFiles(place: UserConfigPlace): Promise<ReadonlyMap<string, string> | null> {
  const system = SYSTEM_FILES[findGit()];
  if (system === undefined) return null;
  const files = [
    system,
    join(place.xdgConfigHome, 'git', 'config'),
    join(place.home, '.gitconfig'),
    join(place.commonDir, 'config'),
  ];
  const read = await Promise.all(files.map(readPlain));
  if (read.includes(null)) return null;
  const entries = read.flatMap((found, at) =>
    (found ?? []).filter(([key]) => at < OWN_FILES || !isOwnAlone(key)),
  );
  return entries.some(([key, value]) => needsGit(key, value)) ? null : new Map(entries);
}

/** All but the repository's. */
const OWN_FILES = 3;
const OWN_SCOPES: ReadonlySet<string> = new Set(['system', 'global']);

const isOwnAlone = (key: string): boolean => key === 'core.excludesfile';

const MAX_FILE_BYTES = 1024 * 1024;

function needsGit(key: string, value: string): boolean {
  if (key.startsWith('extensions.')) return key !== 'extensions.objectformat';
  if (key === 'core.repositoryformatversion') return value !== '0' && value !== '1';
  return /^include(?:if\.|\.)/.test(key);
}

async function readPlain(file: string): Promise<[string, string][] | null> {
  try {
    return parseConfigText((await readFileCapped(file, MAX_FILE_BYTES)).toString('utf8'));
  } catch (error) {
    return isErrno(error, 'ENOENT', 'ENOTDIR') ? [] : null; // git says what is wrong with it
  }
}

async function askGit(options: UserConfigPlace): Promise<ReadonlyMap<string, string>> {
  const result = await runBounded({
    file: 'git',
    args: ['--no-pager', '-c', 'safe.directory=*', 'config', '--list', '-z', '--includes', '--show-scope'],
    cwd: options.cwd,
    env: {
      ...MINIMAL_COMMAND_ENV,
      LC_ALL: 'C',
      HOME: options.home,
      XDG_CONFIG_HOME: options.xdgConfigHome,
      GIT_DIR: options.gitDir,
    },
    timeoutMs: 10_000,
    maxOutputBytes: 8 * 1024 * 1024,
  });
  const stderr = result.stderr.toString('utf8');
  if (result.exitCode !== 0) {
    throw new GitError(`git config --list failed in ${options.cwd}: ${briefly(stderr)}`, stderr, {
      remedy: 'Run `git config --list` there and repair the file it names.',
    });
  }
  return new Map(parseScoped(result.stdout));
}

/** Each entry comes after its scope. */
function parseScoped(listed: Buffer): [string, string][] {
  const words = listed.toString('utf8').split('\0').slice(0, -1);
  return words.flatMap((word, at) => {
    if (at % 2 === 0) return [];
    const entry = parseConfigEntry(word);
    return OWN_SCOPES.has(words[at - 1] ?? '') || !isOwnAlone(entry[0]) ? [entry] : [];
  });
}

/** The settings of one file, in its order and without what it includes; null where git cannot read it. */
export async function readGitConfigFile(
  file: string,
): Promise<readonly (readonly [string, string])[] | null> {
  const plain = await readPlain(file);
  if (plain !== null) return plain;
  const result = await runBounded({
    file: 'git',
    args: ['--no-pager', 'config', '--file', file, '--no-includes', '--list', '-z'],
    cwd: '/',
    env: { ...MINIMAL_COMMAND_ENV, LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_DIR: '/dev/null' },
    timeoutMs: 10_000,
    maxOutputBytes: 1024 * 1024,
  });
  return result.exitCode === 0 ? parseEntries(result.stdout) : null;
}

function parseEntries(listed: Buffer): [string, string][] {
  const entries = listed.toString('utf8').split('\0');
  return entries.filter((entry) => entry !== '').map(parseConfigEntry);
}

/** A key without `=` means true. Later files win, as in git. */
function parseConfigEntry(entry: string): [string, string] {
  const at = entry.indexOf('\n');
  return at === -1 ? [entry, 'true'] : [entry.slice(0, at), entry.slice(at + 1)];
}
