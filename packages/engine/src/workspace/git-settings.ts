/**
 * The system's settings of git in the sandbox: those of the host without keys, and who the user is. Tests make repositories
 * of their own and commit there; on the host they find the user's name in `~/.gitconfig`, which stays out: it may name
 * programs and keys. Nothing of this is in the record of the workspace, which events repeat.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { readGitConfigFile, readSmallFileSync, unlessErrno } from '@caisson/ground';
import type { PreparedWorkspace } from './contract.ts';
import type { Repository } from './locate-repository.ts';

export const SYSTEM_GIT_CONFIG = '/etc/gitconfig';
const MAX_BYTES = 128 * 1024;
const READABLE_BY_ALL = 0o004;

/** The file that a program inside can override in every way, and that `git config --global` leaves alone; '' for none. */
export async function describeGitSettings(
  { attemptDir, agentGit }: Pick<PreparedWorkspace, 'attemptDir' | 'agentGit'>,
  systemFile: string,
): Promise<string> {
  const system = await describeSystem(systemFile);
  const own = agentGit === undefined ? null : readSmallFileSync(placeOwnSettings(attemptDir), MAX_BYTES);
  return `${system}${own?.text ?? ''}`;
}

/** Beside the record, until the agent starts. */
export function placeOwnSettings(attemptDir: string): string {
  return join(attemptDir, 'gitconfig');
}

export function describeOwnSettings(repository: Repository): string {
  const branch = repository.config.get('init.defaultbranch');
  return `${describeUser(repository)}${branch === undefined ? '' : `[init]\n\tdefaultBranch = ${quote(branch)}\n`}`;
}

export function describeUser({ config }: Repository): string {
  const name = config.get('user.name') ?? 'Caisson agent';
  const email = config.get('user.email') ?? 'agent@caisson.invalid';
  return `[user]\n\tname = ${quote(name)}\n\temail = ${quote(email)}\n`;
}

/** Sections with headers, proxies, keys and addresses, and other keys by their names. */
const PRIVATE_KEY =
  /^(?:https?|credential|url|sendemail|imap)\.|(?:pass|token|secret|auth|key|header|proxy)[^.]*$/i;
/** A password may be in front of an `@`. */
const MAY_HAVE_AT = /^(?:user|author|committer)\.(?:name|email)$/;

/** Only what every user of the host can read, and no key of it. */
async function describeSystem(file: string): Promise<string> {
  const stats = unlessErrno(() => statSync(file), null, 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP');
  if (stats === null || !stats.isFile() || stats.size > MAX_BYTES || (stats.mode & READABLE_BY_ALL) === 0)
    return '';
  const version = [file, stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(' ');
  if (known?.version !== version) known = { version, text: readSystem(file) };
  return known.text;
}

/** The file as it was read last: git is asked again only when it was changed. */
let known: { readonly version: string; readonly text: Promise<string> } | null = null;

async function readSystem(file: string): Promise<string> {
  const settings = (await readGitConfigFile(file)) ?? [];
  return settings
    .filter(
      ([key, value]) => !PRIVATE_KEY.test(key) && (MAY_HAVE_AT.test(key) || !`${key}${value}`.includes('@')),
    )
    .map(([key, value]) => formatSetting(key, value))
    .join('');
}

/** `section.name` or `section.any text.name`. */
function formatSetting(key: string, value: string): string {
  const [first, last] = [key.indexOf('.'), key.lastIndexOf('.')];
  const subsection = first === last ? '' : ` ${quote(key.slice(first + 1, last))}`;
  return `[${key.slice(0, first)}${subsection}]\n\t${key.slice(last + 1)} = ${quote(value)}\n`;
}

function quote(value: string): string {
  const escaped = value.replace(/["\\]/g, (found) => `\\${found}`).replaceAll('\n', '\\n');
  return `"${escaped}"`;
}
