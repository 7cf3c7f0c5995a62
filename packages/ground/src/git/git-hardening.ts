/** How git is kept from running foreign code: rules G1 to G3 of git.ts as tables. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MINIMAL_COMMAND_ENV } from '../processes/index.ts';

/** Commands that resolve, list or move names and never read or write a file's contents. */
export const FOREIGN_COMMANDS: ReadonlySet<string> = new Set([
  'cat-file',
  'commit-tree',
  'config',
  'for-each-ref',
  'ls-tree',
  'merge-base',
  'rev-list',
  'rev-parse',
  'symbolic-ref',
  'update-ref',
]);

const HARDENED_CONFIG: readonly string[] = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.splitIndex=false',
  'core.preloadIndex=true',
  'core.pager=cat',
  'core.editor=false',
  'core.askPass=true',
  'core.sshCommand=false',
  'core.gitProxy=false',
  'core.alternateRefsCommand=true',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.autocrlf=false',
  'core.eol=lf',
  'core.safecrlf=false',
  'core.fileMode=true',
  'core.symlinks=true',
  'core.ignoreCase=false',
  'core.precomposeUnicode=false',
  'core.protectNTFS=false',
  'core.protectHFS=false',
  'core.commitGraph=false',
  'core.multiPackIndex=false',
  'core.logAllRefUpdates=false',
  'credential.helper=',
  'diff.external=',
  'diff.ignoreSubmodules=none',
  'gpg.program=false',
  'commit.gpgSign=false',
  'tag.gpgSign=false',
  'merge.default=text',
  'protocol.allow=never',
  'submodule.recurse=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.addEmbeddedRepo=false',
  'safe.directory=*',
];

export const HARDENED_ARGS: readonly string[] = HARDENED_CONFIG.flatMap((entry) => ['-c', entry]);

export const HARDENED_ENV: Readonly<Record<string, string>> = {
  ...MINIMAL_COMMAND_ENV,
  HOME: '/dev/null',
  XDG_CONFIG_HOME: '/dev/null',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '/bin/true',
  SSH_ASKPASS: '/bin/true',
  GIT_SSH_COMMAND: '/bin/false',
  GIT_EDITOR: '/bin/false',
  GIT_PAGER: 'cat',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_ALLOW_PROTOCOL: 'none',
};

/** Commands that start another git, to pack objects, to clean up or to write files side by side; none asks for a status (G3). */
export const STARTS_GIT: ReadonlySet<string> = new Set(['bundle', 'checkout-index', 'gc']);

/** Git looks for git in both places. */
export const NO_OTHER_GIT: Readonly<Record<string, string>> = {
  PATH: '/dev/null',
  GIT_EXEC_PATH: '/dev/null',
};

let git: string | undefined;

/** By its path: the environment of most calls has none (G3). */
export function findGit(): string {
  const folders = (MINIMAL_COMMAND_ENV['PATH'] ?? '').split(':');
  return (git ??= folders.map((folder) => join(folder, 'git')).find((path) => existsSync(path)) ?? 'git');
}
