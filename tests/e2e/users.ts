/** Real users for tests that are started by root: one that owns nothing, and one whose group has others in it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { finish, ROOT, type CliRun } from './project.ts';

export const BIN = join(ROOT, 'packages/cli/bin/caisson.js');
export const isRoot = process.getuid?.() === 0;
/** No entry in the password file, no groups. */
export const STRANGER = 31_234;

export interface AsUser {
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly uid?: number;
  readonly umask?: string;
}

/** Runs the built CLI as a user, or as who we are. */
export function caissonAs({ cwd, env, uid, umask = '0022' }: AsUser, ...args: string[]): Promise<CliRun> {
  const line = [process.execPath, BIN, ...args];
  const become = uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  const argv = [...become, 'sh', '-c', 'umask "$0"; exec "$@"', umask, ...line];
  return finish(spawn(argv[0] ?? '', argv.slice(1), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }));
}
