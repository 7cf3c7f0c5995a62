/** Who has a project: root, and an ordinary user with an account, as `useradd` makes it. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { definedOnly } from '@caisson/protocol';
import { finish, type CliRun } from '../e2e/project.ts';
import { BIN } from '../e2e/users.ts';
import { SOURCES } from './install-tools.ts';

export interface Person {
  readonly home: string;
  /** The name to log in with; null for who calls. */
  readonly account: string | null;
  /** A new empty folder of theirs. */
  makeFolder(name: string): string;
  /** Runs a script on the host; throws with what it printed. */
  sh(cwd: string, script: string, paths?: readonly string[]): string;
  caisson(cwd: string, paths: readonly string[], ...args: string[]): Promise<CliRun>;
  leave(): void;
}

export const PEOPLE = process.getuid?.() === 0 ? (['root', 'ordinary user'] as const) : (['myself'] as const);

const LIMIT_MS = 180_000;
/** A name of its own: an earlier call that was killed may have left one. */
const ACCOUNT = `caisson-projects-${process.pid}`;

export function becomePerson(who: (typeof PEOPLE)[number]): Person {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-projects-')));
  chmodSync(base, 0o755);
  const home = join(base, 'home');
  const isOrdinary = who === 'ordinary user';
  if (isOrdinary) execFileSync('useradd', ['--create-home', '--home-dir', home, ACCOUNT]);
  else mkdirSync(home);
  const become = isOrdinary
    ? ['setpriv', `--reuid=${ACCOUNT}`, `--regid=${ACCOUNT}`, '--init-groups', '--no-new-privs']
    : [];
  const environment = (paths: readonly string[]): Record<string, string> => ({
    PATH: [...paths.map((path) => join(home, path)), dirname(process.execPath), '/usr/bin:/bin'].join(':'),
    HOME: home,
    LANG: 'C.UTF-8',
    CI: '1',
    CAISSON_PROJECT_SOURCES: SOURCES,
    ...definedOnly({ NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'] }),
    // Java asks the list of accounts for its home. Inside a run that is HOME already.
    ...{ MAVEN_OPTS: `-Duser.home=${home}`, GRADLE_OPTS: `-Duser.home=${home}` },
  });
  const run = (cwd: string, argv: readonly string[], paths: readonly string[] = []): string => {
    const line = [...become, ...argv];
    return execFileSync(line[0] ?? '', line.slice(1), {
      cwd,
      env: environment(paths),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
      maxBuffer: 64 * 1024 * 1024,
    });
  };
  return {
    home,
    account: isOrdinary ? ACCOUNT : null,
    makeFolder(name) {
      run(home, ['mkdir', '-p', name]);
      return join(home, name);
    },
    sh: (cwd, script, paths) => run(cwd, ['bash', '-euc', script], paths),
    caisson(cwd, paths, ...args) {
      const line = [...become, process.execPath, BIN, ...args];
      const env = environment(paths);
      return finish(spawn(line[0] ?? '', line.slice(1), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }));
    },
    leave() {
      if (isOrdinary) execFileSync('userdel', [ACCOUNT], { stdio: 'ignore' });
      rmSync(base, { recursive: true, force: true });
    },
  };
}
