/** The user's own git settings: read, never applied. */
import { definedOnly } from '@caisson/protocol';
import { MINIMAL_COMMAND_ENV, runBounded } from '../processes/index.ts';
import { briefly, GitError } from './git.ts';

/**
 * The settings the user's own git would see for a repository: system, global and local. Listing runs no code;
 * no other command may be run with this environment.
 */
export async function readUserGitConfig(options: {
  gitDir?: string;
  cwd: string;
  home: string;
  xdgConfigHome?: string;
}): Promise<ReadonlyMap<string, string>> {
  const result = await runBounded({
    file: 'git',
    args: ['--no-pager', '-c', 'safe.directory=*', 'config', '--list', '-z', '--includes'],
    cwd: options.cwd,
    env: {
      ...MINIMAL_COMMAND_ENV,
      LC_ALL: 'C',
      HOME: options.home,
      ...definedOnly({ XDG_CONFIG_HOME: options.xdgConfigHome, GIT_DIR: options.gitDir }),
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
  return new Map(parseEntries(result.stdout));
}

/** The settings of one file, in its order and without what it includes; null where it is missing or git cannot read it. */
export async function readGitConfigFile(
  file: string,
): Promise<readonly (readonly [string, string])[] | null> {
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
