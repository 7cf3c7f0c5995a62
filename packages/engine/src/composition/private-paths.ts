/**
 * Caisson's own paths that no run may see or change, wherever the XDG variables put them: keys, trust, the user's
 * configuration, caches, the state folders of all known projects, signer and witness.
 */
import { existsSync, readdirSync, realpathSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { isErrno, makeFolder } from '@caisson/ground';
import { listMarkedStates, type ResolvedConfig } from '../config/index.ts';
import { openUserHeads } from './user-keys.ts';
import { isAddress } from './witness-courier.ts';

/** Named one by one as well: a project may be in the same folder, and then the folder as a whole is visible. */
const IN_USER_FOLDERS = [
  ...['keys', 'ledgers', 'states', 'roots', 'trust.json', 'config.yaml', 'compile'],
  ...['program-versions.json', 'program-digests.json'],
];
/** The search depth for links: `keys/trusted/<keyid>.pem` may be one. */
const LINK_DEPTH = 3;

type Config = Pick<ResolvedConfig, 'folders' | 'projectRoot' | 'stateDir' | 'keys' | 'evidence'>;

/** Absolute paths, by their name and by the targets of their links; some of them may not exist. */
export function listPrivatePaths(config: Config): readonly string[] {
  const { folders, evidence, keys } = config;
  const own = [folders.config, folders.data, folders.state];
  const witness = evidence.witness === null || isAddress(evidence.witness) ? [] : [evidence.witness];
  const states = [
    ...new Set([...openUserHeads(config).listStateFolders(), ...listMarkedStates(folders.state)]),
  ];
  const paths = [
    ...[...own, folders.cache].flatMap((folder) => [
      folder,
      ...IN_USER_FOLDERS.map((name) => join(folder, name)),
    ]),
    ...own.flatMap((folder) => findLinks(folder, LINK_DEPTH)),
    ...findLinks(folders.cache, 1),
    ...[...states, config.stateDir].flatMap((state) => findLinks(state, 1)),
    ...states.filter((state) => state !== config.stateDir && existsSync(state)),
    ...witness,
    ...(keys.agentSocket === null ? [] : [keys.agentSocket]),
  ];
  return [...new Set(paths.flatMap((path) => [path, ...realPathOf(path)]))];
}

/** Only existing paths can be covered: in a project that is used in place, an agent could make the folder itself. */
export function makePrivateFolders({ folders, projectRoot }: Config): void {
  for (const folder of [folders.config, folders.cache, folders.data, folders.state])
    if (folder.startsWith(`${projectRoot}/`)) makeFolder(folder);
}

/** The links in a folder. Their targets are as private as the folder. */
function findLinks(folder: string, depth: number): string[] {
  return listEntries(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [path];
    return entry.isDirectory() && depth > 1 ? findLinks(path, depth - 1) : [];
  });
}

function listEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'EINVAL')) return [];
    throw error;
  }
}

function realPathOf(path: string): string[] {
  return existsSync(path) ? [realpathSync.native(path)] : [];
}
