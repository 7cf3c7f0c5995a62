/** What uses the space of a state folder, for a user who must free some. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ifErrno } from '@caisson/ground';
import { formatSize } from '@caisson/protocol';

export interface SpaceHolder {
  readonly path: string;
  readonly bytes: number;
}

/** Folders whose entries each belong to one attempt, or to one run. */
const PARTED = [
  ...['worktrees', 'trash', 'held-back'],
  ...['overlays', 'captures', 'spool', 'homes', 'layers', 'sessions'].map((name) => join('runtime', name)),
];
const WHOLE = ['store', 'ledger.db', 'ledger.db-wal'];
const WORTH_TELLING_BYTES = 2 ** 20;
/** A larger folder is measured in part. */
const MAX_ENTRIES = 100_000;
const MAX_LARGEST = 10;

/** A whole state folder, by its parts. */
export interface StateUsage {
  readonly stateDir: string;
  readonly bytes: number;
  /** What stands directly in it, the largest first. */
  readonly parts: readonly SpaceHolder[];
  /** What belongs to one attempt or one run, the largest first. */
  readonly largest: readonly SpaceHolder[];
}

export async function measureState(stateDir: string): Promise<StateUsage> {
  const names = await list(stateDir);
  const parts = await measureAll(names.map((name) => join(stateDir, name)));
  const largest = (await measureAll(await listParts(stateDir))).slice(0, MAX_LARGEST);
  return { stateDir, bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0), parts, largest };
}

/** The largest first. */
export async function listLargest(stateDir: string, max = 3): Promise<SpaceHolder[]> {
  const whole = WHOLE.map((name) => join(stateDir, name));
  return (await measureAll([...(await listParts(stateDir)), ...whole])).slice(0, max);
}

/** The largest thing that a person can make smaller, in words, with what to do. */
export async function describeLargest(stateDir: string): Promise<string> {
  const [largest] = await listParts(stateDir).then(measureAll, () => []);
  if (largest === undefined || largest.bytes < WORTH_TELLING_BYTES) return '';
  return `Most of what Caisson has there is in ${largest.path} (${formatSize(largest.bytes)}): remove what you do not need of it, or make the disk larger.`;
}

async function listParts(stateDir: string): Promise<string[]> {
  const listed = PARTED.map(async (name) =>
    (await list(join(stateDir, name))).map((entry) => join(stateDir, name, entry)),
  );
  return (await Promise.all(listed)).flat();
}

async function measureAll(paths: readonly string[]): Promise<SpaceHolder[]> {
  const found: SpaceHolder[] = [];
  for (const path of paths) found.push({ path, bytes: await measure(path) });
  return found.toSorted((left, right) => right.bytes - left.bytes);
}

async function measure(path: string): Promise<number> {
  const waiting = [path];
  let bytes = 0;
  for (let seen = 0; seen < MAX_ENTRIES; seen += 1) {
    const next = waiting.pop();
    if (next === undefined) break;
    const found = await lstat(next).catch(() => null); // it may be gone by now
    bytes += (found?.blocks ?? 0) * 512;
    if (found?.isDirectory() === true) waiting.push(...(await list(next)).map((name) => join(next, name)));
  }
  return bytes;
}

async function list(folder: string): Promise<string[]> {
  return await readdir(folder).catch(ifErrno([], 'ENOENT', 'ENOTDIR', 'EACCES'));
}
