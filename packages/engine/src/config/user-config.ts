/** The user's own file, which needs no trust: keys, endpoints and limits that hold in every project. */
import { lstatSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ConfigFile } from '@caisson/protocol';
import { readConfigDocument, type ConfigDocument } from './config-document.ts';
import type { UserFolders } from './contract.ts';
import { ConfigError } from './errors.ts';
import { expandHome, FILE_PATHS, mapAt, SECRET_PATHS } from './named-paths.ts';
import { parseConfigDocument } from './parse-config.ts';

export const USER_CONFIG_FILE_NAME = 'config.yaml';

const WRITABLE_BY_OTHERS = 0o022;

export interface ParsedFile {
  readonly document: ConfigDocument;
  readonly file: ConfigFile;
}

/** The user's file, with its paths made absolute; `null` where there is none. */
export async function readUserConfig(folders: UserFolders): Promise<ParsedFile | null> {
  const path = join(folders.config, USER_CONFIG_FILE_NAME);
  if (!isThere(path)) return null;
  demandOwn(path);
  const document = await readConfigDocument(path);
  const file = anchorFile(await parseConfigDocument(document), dirname(path), folders.home);
  return { document, file };
}

/** A folder of another user that we may not even look into holds no file of ours. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** What others can write is not what the user said. */
function demandOwn(path: string): void {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined) return; // a link that leads nowhere: reading it says so
  const uid = process.getuid?.() ?? info.uid;
  const isOwn = info.uid === uid || info.uid === 0;
  if (isOwn && (info.mode & WRITABLE_BY_OTHERS) === 0) return;
  const message = isOwn ? 'can be written by other users.' : 'belongs to another user.';
  throw new ConfigError([{ file: path, message }], {
    remedy: isOwn ? `chmod go-w ${path}` : 'Put a file of your own there.',
  });
}

/** Paths in the user's file are relative to its folder, wherever the project is. */
function anchorFile(file: ConfigFile, folder: string, home: string): ConfigFile {
  const toPath = (path: string): string => resolve(folder, expandHome(path, home));
  const toProgram = (bin: string): string => (bin.includes('/') ? toPath(bin) : bin);
  const toRef = (ref: string): string => anchorRef(ref, folder, home);
  let anchored: unknown = file;
  for (const path of FILE_PATHS) anchored = mapAt(anchored, path, toPath);
  for (const path of SECRET_PATHS) anchored = mapAt(anchored, path, toRef);
  anchored = mapAt(anchored, ['runtimes', '*', 'bin'], toProgram);
  return mapAt(anchored, ['evidence', 'witness'], (to) => (isAddress(to) ? to : toPath(to))) as ConfigFile;
}

function isAddress(text: string): boolean {
  return /^https?:\/\//.test(text);
}

/** `file:` and `exec:` mean the folder of the file that holds them; a project must not put its own there. */
function anchorRef(ref: string, folder: string, home: string): string {
  if (ref.startsWith('file:')) return `file:${resolve(folder, expandHome(ref.slice(5), home))}`;
  if (ref.startsWith('exec:')) return `exec:cd ${quoteForShell(folder)} && ${ref.slice(5)}`;
  return ref;
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
