// A bind mount has no quota, so somebody has to look. Walking a big workspace every second would cost more than the
// agent: the file system's own counter is asked first, and the folder is walked only when the whole disk has grown by
// what the folder may still grow, or when the last walk is long ago (others may have freed what the folder took).
import { lstat, opendir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 500;
const WALK_AT_LEAST_EVERY_MS = 30_000;
/** A walk may take at most this part of the time. */
const PAUSE_PER_WALK_TIME = 5;
const MAX_ENTRIES = 300_000;

export interface FolderSize {
  readonly bytes: number;
  readonly entries: number;
  /** More entries than are ever counted: the true size is larger. */
  readonly isPartial: boolean;
}

export interface GrowthWatchOptions {
  readonly path: string;
  /** Folders that count as well, on the same disk. */
  readonly others?: readonly string[] | undefined;
  /** Bytes on that disk which no folder shows; see `measureUnlinked`. */
  readonly unseenBytes?: (() => number) | undefined;
  /** How much the folder may grow beyond what it held at the start. */
  readonly maxGrowthBytes: number;
  readonly pollMs?: number | undefined;
  /** Called once, with the growth that was found; the watch then ends by itself. */
  readonly onExceeded: (growthBytes: number) => void;
}

export interface GrowthWatch {
  /** Growth at the last walk. */
  growthBytes(): number;
  /** Idempotent; resolves when no walk is under way any more. */
  stop(): Promise<void>;
}

/** Watches a folder until it has grown past the cap or `stop` is called. Resolves when the start size is known. */
export async function watchGrowth(options: GrowthWatchOptions): Promise<GrowthWatch> {
  const aborter = new AbortController();
  const start = await measureAll(options, aborter.signal);
  const state = { growth: 0 };
  const loop = poll(options, start, state, aborter.signal);
  return {
    growthBytes: () => state.growth,
    stop: async () => {
      aborter.abort();
      await loop;
    },
  };
}

async function poll(
  options: GrowthWatchOptions,
  start: FolderSize,
  state: { growth: number },
  signal: AbortSignal,
): Promise<void> {
  let walkedAt = performance.now();
  let notBefore = walkedAt;
  let usedAtWalk = await readUsedBytes(options.path);
  while (await pause(options.pollMs ?? POLL_MS, signal)) {
    const used = await readUsedBytes(options.path);
    const now = performance.now();
    const couldExceed = used - usedAtWalk > options.maxGrowthBytes - state.growth;
    if (now < notBefore || (!couldExceed && now - walkedAt < WALK_AT_LEAST_EVERY_MS)) continue;
    const size = await measureAll(options, signal);
    if (signal.aborted) return;
    walkedAt = performance.now();
    notBefore = walkedAt + (walkedAt - now) * PAUSE_PER_WALK_TIME;
    usedAtWalk = used;
    state.growth = size.bytes - start.bytes;
    if (state.growth <= options.maxGrowthBytes && (!size.isPartial || start.isPartial)) continue;
    options.onExceeded(state.growth);
    return;
  }
}

async function measureAll(options: GrowthWatchOptions, signal: AbortSignal): Promise<FolderSize> {
  const sizes: FolderSize[] = [];
  for (const path of [options.path, ...(options.others ?? [])]) sizes.push(await measureFolder(path, signal));
  const sum = (key: 'bytes' | 'entries'): number => sizes.reduce((total, size) => total + size[key], 0);
  return {
    bytes: sum('bytes') + (options.unseenBytes?.() ?? 0),
    entries: sum('entries'),
    isPartial: sizes.some((size) => size.isPartial),
  };
}

/** Bytes on disk of everything below the folder: links and other file systems are not followed, hard links count once. */
export async function measureFolder(path: string, signal?: AbortSignal): Promise<FolderSize> {
  const root = await lstat(path);
  const seen = new Set<number>();
  const folders = [path];
  let bytes = 0;
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of await listNames(folder)) {
      if (signal?.aborted || entries >= MAX_ENTRIES) return { bytes, entries, isPartial: true };
      entries += 1;
      const stats = await unlessGone(lstat(join(folder, name)));
      if (stats === null || stats.dev !== root.dev) continue;
      if (stats.isDirectory()) folders.push(join(folder, name));
      else if (stats.nlink > 1 && seen.has(stats.ino)) continue;
      else if (stats.nlink > 1) seen.add(stats.ino);
      bytes += stats.blocks * 512;
    }
  }
  return { bytes, entries, isPartial: false };
}

async function listNames(folder: string): Promise<string[]> {
  const opened = await unlessGone(opendir(folder));
  if (opened === null) return [];
  const names: string[] = [];
  for await (const entry of opened) {
    names.push(entry.name);
    if (names.length > MAX_ENTRIES) break;
  }
  return names;
}

/** The agent works while we look: what vanished, or was made unreadable, is left out. */
async function unlessGone<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES' || code === 'ENAMETOOLONG') return null;
    throw error;
  }
}

async function readUsedBytes(path: string): Promise<number> {
  const stats = await statfs(path);
  return (stats.blocks - stats.bfree) * stats.bsize;
}

/** `false` when the watch was stopped meanwhile. */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal, ref: false });
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
  return true;
}
