/** The user's own file, which needs no trust: keys, endpoints and limits for every project. */
import { lstatSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isWritableByOthers, ownUid } from '@caisson/ground';
import { shellQuote, type ConfigFile } from '@caisson/protocol';
import { refusePatterns } from './check-patterns.ts';
import { refuseUserResidents } from './check-residents.ts';
import { readConfigDocument, type ConfigDocument } from './config-document.ts';
import type { UserFolders } from './contract.ts';
import { ConfigError } from './errors.ts';
import { readOrLeave } from './left-file.ts';
import { expandHome, FILE_PATHS, mapAt, SECRET_PATHS } from './named-paths.ts';
import { parseConfigDocument } from './parse-config.ts';

export const USER_CONFIG_FILE_NAME = 'config.yaml';

export interface ParsedFile {
  readonly document: ConfigDocument;
  readonly file: ConfigFile;
}

/** The user's file, with its paths made absolute; `null` where there is none. */
export async function readUserConfig(
  folders: UserFolders,
  onUnread?: (error: ConfigError) => void,
): Promise<ParsedFile | null> {
  const path = join(folders.config, USER_CONFIG_FILE_NAME);
  if (!isThere(path)) return null;
  demandOwn(path);
  return await readOrLeave(path, () => readOwn(path, folders, onUnread), onUnread);
}

async function readOwn(
  path: string,
  folders: UserFolders,
  onUnread?: (error: ConfigError) => void,
): Promise<ParsedFile> {
  const document = await readConfigDocument(path);
  const written = await parseConfigDocument(document, onUnread);
  refuseUserResidents(document, written);
  refusePatterns(document, written);
  const file = anchorFile(written, dirname(path), folders.home);
  return { document, file };
}

/** A folder of another user that we may not read contains no file of ours. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** A file that others can write may not be the user's. */
function demandOwn(path: string): void {
  const folder = dirname(path);
  const link = lstatSync(path);
  // A dangling link has no target: reading it reports that.
  for (const [place, info] of [
    [folder, statSync(folder)],
    [path, link],
    [path, statSync(path, { throwIfNoEntry: false })],
  ] as const) {
    if (info === undefined) continue;
    if (info.uid !== ownUid() && info.uid !== 0)
      throw new ConfigError([{ file: place, message: 'belongs to another user.' }], {
        remedy: 'Put your own file there.',
      });
    if (!info.isSymbolicLink() && isWritableByOthers(info))
      throw new ConfigError([{ file: place, message: 'can be written by other users.' }], {
        remedy: `chmod go-w ${place}`,
      });
  }
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

/** `file:` and `exec:` are relative to the folder of the file that contains them; a project must not replace it. */
function anchorRef(ref: string, folder: string, home: string): string {
  if (ref.startsWith('file:')) return `file:${resolve(folder, expandHome(ref.slice(5), home))}`;
  if (ref.startsWith('exec:')) return `exec:cd ${shellQuote(folder)} && ${ref.slice(5)}`;
  return ref;
}
