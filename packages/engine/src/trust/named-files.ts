/** The project's own files that an asked-for value names: agreeing to the value includes their content. */
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, constants, createReadStream, fstatSync, openSync, readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { listCommandWords } from '@caisson/ground';
import { RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import { isPlainCommand } from '../config/index.ts';

interface NamedFile {
  readonly path: string;
  readonly sha256: string;
}

/** Folders are walked only where the key is a folder of files to copy over a workspace. */
const MAX_FILES = 5000;
const SMALL_BYTES = 1024 * 1024;

/**
 * Ignored files change with every build, and the state folder with every run: only their names are agreed to. So it is with
 * code that stays: it is edited while it runs, and its sandbox is what the user agrees to.
 */
const NAMES_ONLY =
  /^(workspace\.include|state|network\.hosts|sandbox\.toolchains|(senses|workflows|schedules)\..+)$/;

export async function digestNamedFiles(
  projectRoot: string,
  path: readonly string[],
  value: unknown,
): Promise<NamedFile[]> {
  if (NAMES_ONLY.test(path.join('.'))) return [];
  const found = new Map<string, string>();
  for (const word of [...listWords(value), ...listServerFiles(path)]) {
    const full = resolve(projectRoot, word);
    const name = relative(projectRoot, full);
    if (name === '' || name === '..' || name.startsWith('../') || found.has(name)) continue;
    const sha256 = await digestFile(full);
    if (sha256 !== null) found.set(name, sha256);
    else if (path[0] === 'capabilities') await digestFolder(projectRoot, full, found);
  }
  // A value that is never the same twice: the user cannot agree to what cannot be read completely.
  for (const ref of listTexts(value).filter(isObscureCommand))
    found.set(`${ref}: not plain words, put it into a script of the project`, randomUUID());
  return [...found]
    .map(([name, sha256]) => ({ path: name, sha256 }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function isObscureCommand(text: string): boolean {
  return text.startsWith('exec:') && !isPlainCommand(text.slice('exec:'.length));
}

/** `runtimes.X.projectServers` asks for servers in the settings of that program. */
function listServerFiles([first, runtime = '', key]: readonly string[]): readonly string[] {
  if (first !== 'runtimes' || key !== 'projectServers') return [];
  const filesOf = (name: string): readonly string[] =>
    RUNTIME_DESCRIPTORS[name]?.repository?.servers?.files ?? [];
  const own = filesOf(runtime);
  return own.length > 0 ? own : Object.keys(RUNTIME_DESCRIPTORS).flatMap(filesOf);
}

/** Every word of every text: a command names its script among other words. */
function listWords(value: unknown): string[] {
  return listTexts(value).flatMap((text) => [text, ...listCommandWords(text.replace(/^[a-z-]+:/, ''))]);
}

function listTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(listTexts);
}

/** `null` if there is no regular file. Never waits for a pipe, nor for another thread if the file is small. */
async function digestFile(path: string): Promise<string | null> {
  const fd = openIfThere(path);
  if (fd === null) return null;
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return null;
    const hash = createHash('sha256');
    if (stats.size <= SMALL_BYTES) return hash.update(readFileSync(fd)).digest('hex');
    for await (const chunk of createReadStream('', { fd, autoClose: false })) hash.update(chunk as Buffer);
    return hash.digest('hex');
  } finally {
    closeSync(fd);
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
}

async function digestFolder(projectRoot: string, folder: string, found: Map<string, string>): Promise<void> {
  if ((await stat(folder).catch(() => null))?.isDirectory() !== true) return;
  const names = (await readdir(folder, { recursive: true })).toSorted();
  // A value that is never the same twice: the user cannot agree to what cannot be read completely.
  if (names.length > MAX_FILES) found.set(`${relative(projectRoot, folder)}: too many files`, randomUUID());
  for (const name of names.slice(0, MAX_FILES)) {
    const full = join(folder, name);
    const sha256 = await digestFile(full);
    if (sha256 !== null) found.set(relative(projectRoot, full), sha256);
  }
}
