/**
 * Settings in HOME that tell the shims of a version manager which version to start: without them every program is there and
 * none is found. Of a file that may have keys, only the versions are shown.
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { readSmallFileSync, unlessErrno } from '@caisson/ground';
import { namesCredential, type InsideFile } from '@caisson/protocol';
import { findRepositoryFolders, isFileOf } from '../discovery/index.ts';
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

type ManagerSettings = Pick<DispatchSettings, 'home' | 'path' | 'projectRoot'>;

export async function managerFiles({ home, path, projectRoot }: ManagerSettings): Promise<InsideFile[]> {
  const folders = path.split(':');
  const usesMise = folders.some((folder) => MISE.test(folder));
  if (!usesMise && !folders.some((folder) => ASDF.test(folder))) return [];
  const ofMise = usesMise ? [...MISE_FILES, ...listParts(home)] : [];
  const repository = findRepositoryFolders({ projectRoot, home });
  // A link of the repository could lead to any file of the user.
  const isOwn = (name: string): boolean => !isFileOf(repository, join(home, name));
  const shown = await Promise.all([
    ...VERSIONS.filter(isOwn).map((name) => show(home, name, (text) => text)),
    ...ofMise
      .filter(isOwn)
      .slice(0, MAX_FILES)
      .map((name) => show(home, name, keepVersions)),
  ]);
  return shown.flat().slice(0, MAX_FILES);
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

async function show(
  home: string,
  name: string,
  shown: (text: string) => string | Promise<string>,
): Promise<InsideFile[]> {
  const path = join(home, name);
  const text = readText(path);
  const content = text === null ? '' : await shown(text);
  return content.trim() === '' ? [] : [{ path, content }];
}

/** Many keep such files as links into a folder of their own. */
function readText(path: string): string | null {
  try {
    if (!existsSync(path) || namesCredential(realpathSync(path))) return null;
    return readSmallFileSync(realpathSync(path), MAX_BYTES)?.text ?? null;
  } catch {
    return null; // not readable: the shim says what it misses
  }
}

/** What mise needs to find an installed version; options such as `install_env` and `postinstall` may have keys. */
const SHOWN_OPTIONS = new Set([
  'version',
  'prefix',
  'ref',
  'path',
  'os',
  'exe',
  'bin',
  'bin_path',
  'matching',
  'rename_exe',
]);
const SHOWN_SETTING = /^(?:(?:idiomatic|legacy)_version_file\w*|experimental)$/;
const ADDRESS_WITH_NAME = /:\/\/[^/\s]*@/;

type Table = Readonly<Record<string, unknown>>;

/** The tables of tools and their other names; variables, tasks and addresses with a password stay out. */
async function keepVersions(text: string): Promise<string> {
  const { parse, stringify } = await import('smol-toml');
  let found: Table;
  try {
    found = parse(text);
  } catch {
    return ''; // nobody knows which of its lines are variables
  }
  const { tools, alias, tool_alias: toolAlias, settings } = found;
  const shown = {
    tools: filter(tools, (_name, tool) => keepTool(tool)),
    alias: filter(alias, (_name, value) => value),
    tool_alias: filter(toolAlias, (_name, value) => value),
    settings: filter(settings, (name, value) => (SHOWN_SETTING.test(name) ? value : undefined)),
  };
  const filled = Object.entries(shown).filter(([, table]) => Object.keys(table).length > 0);
  return filled.length === 0 ? '' : stringify(Object.fromEntries(filled));
}

/** A version, a table of options, or a list of those; undefined if nothing of it is shown. */
function keepTool(tool: unknown): unknown {
  if (Array.isArray(tool)) return tool.map(keepTool).filter((one) => one !== undefined);
  if (!isTable(tool)) return tool;
  const options = filter(tool, (name, value) => (SHOWN_OPTIONS.has(name) ? value : undefined));
  return Object.keys(options).length === 0 ? undefined : options;
}

function filter(table: unknown, keep: (name: string, value: unknown) => unknown): Table {
  if (!isTable(table)) return {};
  const kept = Object.entries(table).map(([name, value]) => [name, keep(name, value)] as const);
  return Object.fromEntries(
    kept.filter(([, value]) => value !== undefined && !ADDRESS_WITH_NAME.test(JSON.stringify(value))),
  );
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
