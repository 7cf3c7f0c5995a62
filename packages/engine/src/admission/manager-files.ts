/**
 * Settings in HOME that tell the shims of a version manager which version to start: without them every program is there and
 * none is found. Of a file that may have keys, only the versions are shown.
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { readSmallFileSync, unlessErrno } from '@caisson/ground';
import type { InsideFile } from '@caisson/protocol';
import type { DispatchSettings } from './rooms.ts';

const MAX_BYTES = 64 * 1024;
const MAX_FILES = 32;
const ASDF = /\/\.?asdf\/(?:shims|bin)$/;
const MISE = /\/mise\/(?:shims|installs\/.+)$/;

const VERSIONS = ['.tool-versions', '.asdfrc'];
const MISE_FOLDER = '.config/mise';
const MISE_FILES = [
  `${MISE_FOLDER}/config.toml`,
  `${MISE_FOLDER}/mise.toml`,
  '.config/mise.toml',
  '.mise.toml',
];

type ManagerSettings = Pick<DispatchSettings, 'home' | 'path'>;

export function managerFiles({ home, path }: ManagerSettings): InsideFile[] {
  const folders = path.split(':');
  const usesMise = folders.some((folder) => MISE.test(folder));
  if (!usesMise && !folders.some((folder) => ASDF.test(folder))) return [];
  const ofMise = usesMise ? [...MISE_FILES, ...listParts(home)] : [];
  return [
    ...VERSIONS.flatMap((name) => show(home, name, (text) => text)),
    ...ofMise.flatMap((name) => show(home, name, keepVersions)),
  ].slice(0, MAX_FILES);
}

/** mise asks for trust in files of a project, and its answers lie in HOME. In a sandbox the project's code runs anyway. */
export function managerEnv({
  path,
  projectRoot,
}: Pick<DispatchSettings, 'path' | 'projectRoot'>): Record<string, string> {
  const usesMise = path.split(':').some((folder) => MISE.test(folder));
  return usesMise ? { MISE_TRUSTED_CONFIG_PATHS: projectRoot } : {};
}

function listParts(home: string): string[] {
  const folder = `${MISE_FOLDER}/conf.d`;
  const names = unlessErrno(() => readdirSync(join(home, folder)), [], 'ENOENT', 'ENOTDIR', 'EACCES');
  return names.filter((name) => name.endsWith('.toml')).map((name) => `${folder}/${name}`);
}

function show(home: string, name: string, shown: (text: string) => string): InsideFile[] {
  const path = join(home, name);
  const text = readText(path);
  const content = text === null ? '' : shown(text);
  return content.trim() === '' ? [] : [{ path, content }];
}

/** Many keep such files as links into a folder of their own. */
function readText(path: string): string | null {
  try {
    return existsSync(path) ? (readSmallFileSync(realpathSync(path), MAX_BYTES)?.text ?? null) : null;
  } catch {
    return null; // not readable: the shim says what it misses
  }
}

const TABLE = /^\[+\s*([\w.-]+)/;
const SHOWN_SETTING = /^\s*(?:(?:idiomatic|legacy)_version_file\w*|experimental)\s*=/;

const ADDRESS_WITH_NAME = /:\/\/[^/\s]*@/;

/** The tables of tools and their other names; variables, tasks and addresses with a password stay out. */
function keepVersions(toml: string): string {
  let table = '';
  const lines = toml.split('\n').filter((line) => {
    const header = TABLE.exec(line)?.[1];
    table = header ?? table;
    if (ADDRESS_WITH_NAME.test(line)) return false;
    if (table === 'settings') return header !== undefined || SHOWN_SETTING.test(line);
    return /^(?:tools|alias|tool_alias)(?:\.|$)/.test(table);
  });
  return lines.length === 0 ? '' : `${lines.join('\n').trimEnd()}\n`;
}
