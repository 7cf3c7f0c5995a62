/**
 * The files an agent left in `outputs/`. This code runs outside the sandbox: a link there may lead to any file of the
 * user, so none is followed, neither to a file nor into a folder (Node's recursive listing does the latter).
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The limit of folders and other entries that are read; more is reported as too many. */
const MAX_ENTRIES = 100_000;

export interface OutputEntry {
  /** Relative to the folder. */
  readonly path: string;
  readonly size: number;
}

/** Regular files below `root` in the order of their paths, or `null` when there are too many. */
export function listOutputs(root: string): OutputEntry[] | null {
  const files: OutputEntry[] = [];
  if (!isFolder(root)) return files;
  let entries = 0;
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      entries += 1;
      if (entries > MAX_ENTRIES) return null;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) files.push({ path, size: lstatSync(join(root, path)).size });
    }
  }
  return files.toSorted((left, right) => (left.path < right.path ? -1 : 1));
}

/** The content of a file that is unchanged since it was listed. */
export function readOutput(root: string, { path }: OutputEntry): Buffer {
  const fd = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) throw new Error(`outputs/${path} is no longer a regular file`);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
