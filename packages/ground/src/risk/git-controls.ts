/**
 * A git dir obeys its own config and hooks, and git runs them for every `git status` there, as many shell prompts do by
 * themselves. Any folder with the right files in it is a git dir, also one that is not called `.git`.
 *
 * An ordinary repository that an agent made stays: its config has only the usual settings, and no hook is in it. What
 * is not understood is not harmless.
 */
import { lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs';
import { join } from 'node:path';

import { GIT_DIR_CONTROLS } from '@caisson/protocol';
import { isErrno } from '../platform/index.ts';

const MAY_BE_HARMFUL: ReadonlySet<string> = new Set(
  GIT_DIR_CONTROLS.flatMap(({ name, isInEveryRepository }) => (isInEveryRepository === true ? [] : [name])),
);
const MAX_CONFIG_BYTES = 64 * 1024;
const SECTION = /^\[(?:(core|user|extensions)|(remote|branch|submodule) "[^"\\]*")\]$/;
const SETTING = /^([A-Za-z][A-Za-z0-9-]*)(?: *= *[^"\\]*)?$/;
const HARMLESS: Readonly<Record<string, ReadonlySet<string>>> = {
  core: new Set([
    ...['repositoryformatversion', 'filemode', 'bare', 'logallrefupdates', 'ignorecase'],
    ...['precomposeunicode', 'symlinks', 'autocrlf', 'eol', 'safecrlf', 'abbrev'],
  ]),
  user: new Set(['name', 'email']),
  extensions: new Set(['objectformat', 'refstorage']),
  remote: new Set(['url', 'pushurl', 'fetch', 'tagopt']),
  branch: new Set(['remote', 'merge', 'rebase']),
  submodule: new Set(['url', 'active']),
};

/** The parts of a git dir that could make git run a program; without these it still is a repository. */
export function listHarmfulParts(gitDir: string): string[] {
  return [...MAY_BE_HARMFUL].filter((name) => isHarmful(join(gitDir, name), name));
}

function isHarmful(path: string, name: string): boolean {
  if (name === 'config') return !isHarmlessConfig(path);
  if (name === 'hooks') return !holdsSamplesAlone(path);
  return look(path) !== null;
}

/** Whether a file is one that git would obey in a folder that is a git dir without being called so. */
export function isPlantedGitControl(root: string, path: string): boolean {
  const parts = path.split('/');
  return parts.some((part, at) => {
    if (!MAY_BE_HARMFUL.has(part)) return false;
    const folder = join(root, ...parts.slice(0, at));
    return isGitDir(folder) && listHarmfulParts(folder).includes(part);
  });
}

/** Folders that would make this path one of git's own, if they are git dirs; only by its name. */
export function maybeGitControls(path: string): string[] {
  const parts = path.split('/');
  return parts.flatMap((part, at) => (MAY_BE_HARMFUL.has(part) ? [parts.slice(0, at).join('/')] : []));
}

/** As git itself recognises one; if its parts are elsewhere, `commondir` names the place. */
export function isGitDir(folder: string): boolean {
  if (look(join(folder, 'HEAD')) === null) return false;
  return (
    look(join(folder, 'commondir')) !== null ||
    (look(join(folder, 'objects')) !== null && look(join(folder, 'refs')) !== null)
  );
}

function isHarmlessConfig(path: string): boolean {
  const found = look(path);
  if (found === null) return true;
  if (!found.isFile() || found.size > MAX_CONFIG_BYTES) return false;
  let section = '';
  return readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .every((line) => {
      if (line === '' || (/^[#;]/.test(line) && !line.endsWith('\\'))) return true;
      const opened = SECTION.exec(line);
      if (opened !== null) section = opened[1] ?? opened[2] ?? '';
      const key = SETTING.exec(line)?.[1]?.toLowerCase();
      return opened !== null || (key !== undefined && HARMLESS[section]?.has(key) === true);
    });
}

function holdsSamplesAlone(hooks: string): boolean {
  const found = look(hooks);
  if (found === null) return true;
  return found.isDirectory() && readdirSync(hooks).every((name) => name.endsWith('.sample'));
}

function look(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isErrno(error, 'ENOTDIR', 'EACCES', 'ENAMETOOLONG')) return null;
    throw error;
  }
}
