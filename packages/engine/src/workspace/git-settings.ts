/**
 * Who the user is, for git in the sandbox. Tests make repositories of their own and commit there; on the host they find the
 * user's name in `~/.gitconfig`, which stays out: it may name programs and keys.
 */
import { readSmallFileSync } from '@caisson/ground';
import type { Repository } from './locate-repository.ts';

export const SYSTEM_GIT_CONFIG = '/etc/gitconfig';
const MAX_BYTES = 128 * 1024;
const READABLE_BY_ALL = 0o004;

/** The system's file is the one that a program inside can override in every way, and that `git config --global` leaves alone. */
export function describeGitSettings(repository: Repository): string {
  const system = readSmallFileSync(SYSTEM_GIT_CONFIG, MAX_BYTES);
  const shown = system !== null && (system.mode & READABLE_BY_ALL) !== 0 ? `${system.text}\n` : '';
  const branch = repository.config.get('init.defaultbranch');
  return `${shown}${describeUser(repository)}${branch === undefined ? '' : `[init]\n\tdefaultBranch = ${quote(branch)}\n`}`;
}

export function describeUser({ config }: Repository): string {
  const name = config.get('user.name') ?? 'Caisson agent';
  const email = config.get('user.email') ?? 'agent@caisson.invalid';
  return `[user]\n\tname = ${quote(name)}\n\temail = ${quote(email)}\n`;
}

function quote(value: string): string {
  const escaped = value.replace(/["\\]/g, (found) => `\\${found}`).replaceAll('\n', '\\n');
  return `"${escaped}"`;
}
