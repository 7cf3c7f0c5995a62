// A bind mount has no quota, so the size must be watched. Walking a big workspace every second would cost more than the
// agent: the file system's own counter is read first, and the folder is walked only when the whole disk has grown by
// what the folder may still grow, or when the last walk is long ago (others may have freed what the folder used). While
// walks find nothing new they become rarer.
//
// Guarantees:
// G1  The content of the folders, and open files without a name, are counted exactly.
// G2  Where something could be hidden (a folder closed since the start, a path longer than any name can be, more files than
//     are ever counted, one of the signs of `findHiding`), the growth of the whole disk counts for the folder: never more than the cap is hidden,
//     unless others free as much meanwhile. A folder that gets more files than can be counted is too large, whatever they have.
// G3  When nine tenths of what was free at the start are gone, for any reason, the watch calls at its next look. That is two
//     seconds away at most, and half a second while the disk fills: `fallocate` takes all that is free in one call.
import { statfs } from 'node:fs';
import { promisify } from 'node:util';
import { measureFolder, type FolderSize } from './measure-folder.ts';

const POLL_MS = 500;
/** So many times as long at most while little changes: each look wakes an idle worker. */
const LONGEST_WAIT = 4;
/** The disk fills when it has grown by such a part of what is left since the last look. */
const FILLING_PART = 1 / 16;
/** So many polls are between two walks at most: two seconds. */
const WALK_AT_LEAST_EVERY_POLLS = 4;
/** The same for a folder in which nothing changes; each walk that finds nothing new doubles the pause up to this. */
const WALK_WHILE_STILL_EVERY_POLLS = 32;
/** A walk may use at most this part of the time: much less if nothing hints at growth. */
const PAUSE_PER_WALK_TIME = 5;
const IDLE_PAUSE_PER_WALK_TIME = 50;
/** Under a large cap the first walk waits for the first poll: most commands end before. */
const LATE_START_FROM_BYTES = 1024 ** 3;
/** A disk is never filled completely, whatever the cap: reporting it needs space, too. */
const MAX_SHARE_OF_FREE = 0.9;
/** How far the file system's clock may be behind ours. */
const CLOCK_STEP_MS = 50;

export interface GrowthWatchOptions {
  readonly path: string;
  /** Folders that count as well, on the same disk. */
  readonly others?: readonly string[] | undefined;
  /** Bytes on that disk which no folder shows; see `measureUnlinked`. */
  readonly unseenBytes?: (() => number) | undefined;
  /** How bytes could be hidden on that disk, in words; called only when the disk has grown past the cap. */
  readonly findHiding?: (() => string | null) | undefined;
  /** How much the folder may grow from its start size. */
  readonly maxGrowthBytes: number;
  readonly pollMs?: number | undefined;
  /** Whether the folder is too large when it had more files than can be counted before: it is ours alone. */
  readonly mustBeCounted?: boolean | undefined;
  /** Files and folders that are counted. */
  readonly maxEntries?: number | undefined;
  /** Called once, with the growth that was found and why more than the folders' is counted; the watch then ends. */
  readonly onExceeded: (growthBytes: number, why?: string) => void;
}

export interface GrowthWatch {
  /** The growth at which the watch calls: the cap, or most of what was free at the start if that is less. */
  readonly maxGrowthBytes: number;
  /** Growth at the last walk. */
  growthBytes(): number;
  /** Idempotent; resolves when no walk is under way any more. */
  stop(): Promise<void>;
}

/** Watches a folder until it has grown past the cap or `stop` is called. Resolves when the start size is known. */
export async function watchGrowth(options: GrowthWatchOptions): Promise<GrowthWatch> {
  const aborter = new AbortController();
  const { usedBytes, freeBytes } = await readDisk(options.path);
  const maxGrowthBytes = Math.min(options.maxGrowthBytes, Math.floor(freeBytes * MAX_SHARE_OF_FREE));
  const startedAtMs = Date.now() - CLOCK_STEP_MS;
  const measure = (signal: AbortSignal): Promise<FolderSize> => measureAll(options, signal, startedAtMs);
  const start = maxGrowthBytes < LATE_START_FROM_BYTES ? await measure(aborter.signal) : null;
  const state = { growth: 0 };
  const begin = { usedBytes, fullBytes: Math.floor(freeBytes * MAX_SHARE_OF_FREE), size: start };
  const loop = poll({ ...options, maxGrowthBytes, measure }, begin, state, aborter.signal);
  return {
    maxGrowthBytes,
    growthBytes: () => state.growth,
    stop: async () => {
      aborter.abort();
      await loop;
    },
  };
}

interface Beginning {
  readonly usedBytes: number;
  /** Growth of the whole disk at which it counts as full. */
  readonly fullBytes: number;
  readonly size: FolderSize | null;
}

async function poll(
  options: GrowthWatchOptions & { measure(signal: AbortSignal): Promise<FolderSize> },
  begin: Beginning,
  state: { growth: number },
  signal: AbortSignal,
): Promise<void> {
  let start = begin.size;
  let walkedAt = performance.now();
  let notBefore = walkedAt;
  const { pollMs = POLL_MS } = options;
  let idleMs = WALK_AT_LEAST_EVERY_POLLS * pollMs;
  let usedAtWalk = begin.usedBytes;
  let last = start;
  const pause = createPauses(signal);
  let [waitMs, usedBefore] = [pollMs, begin.usedBytes];
  while (await pause(waitMs)) {
    const used = (await readDisk(options.path)).usedBytes;
    if (start === null) {
      // The growth of the whole disk in this first moment counts for the folder.
      const size = await options.measure(signal);
      if (signal.aborted) return;
      start = { ...size, bytes: size.bytes - Math.max(0, used - begin.usedBytes) };
    }
    const now = performance.now();
    const left = options.maxGrowthBytes - state.growth - (used - usedAtWalk);
    const isFilling = used - usedBefore > left * FILLING_PART;
    waitMs = isFilling ? pollMs : Math.min(2 * waitMs, LONGEST_WAIT * pollMs);
    usedBefore = used;
    const couldExceed = left < 0;
    if (now < notBefore || (!couldExceed && now - walkedAt < idleMs)) continue;
    const size = await options.measure(signal);
    if (signal.aborted) return;
    walkedAt = performance.now();
    notBefore = walkedAt + (walkedAt - now) * PAUSE_PER_WALK_TIME;
    idleMs = Math.max(
      nextIdleMs(pollMs, idleMs, isSame(size, last)),
      (walkedAt - now) * IDLE_PAUSE_PER_WALK_TIME,
    );
    last = size;
    usedAtWalk = used;
    const seen = size.bytes - start.bytes;
    const hidden = seen > options.maxGrowthBytes ? null : findHidden(options, { begin, start, used, size });
    state.growth = hidden === null ? seen : Math.max(seen, used - begin.usedBytes);
    if (hidden === null && seen <= options.maxGrowthBytes) continue;
    options.onExceeded(state.growth, hidden ?? undefined);
    return;
  }
}

function isSame(size: FolderSize, last: FolderSize | null): boolean {
  return size.bytes === last?.bytes && size.entries === last.entries;
}

function nextIdleMs(pollMs: number, idleMs: number, isStill: boolean): number {
  return isStill
    ? Math.min(2 * idleMs, WALK_WHILE_STILL_EVERY_POLLS * pollMs)
    : WALK_AT_LEAST_EVERY_POLLS * pollMs;
}

/** G2, G3: why the growth of the whole disk counts for the folder, and is too large; `null` if it does not. */
function findHidden(
  options: GrowthWatchOptions,
  { begin, start, used, size }: { begin: Beginning; start: FolderSize; used: number; size: FolderSize },
): string | null {
  const tooMany = size.isPartial ? 'there are more files than can be counted' : null;
  if (tooMany !== null && (!start.isPartial || options.mustBeCounted === true)) return tooMany;
  const growth = used - begin.usedBytes;
  if (growth <= options.maxGrowthBytes) return null;
  if (growth > begin.fullBytes) return 'the disk is almost full';
  if (size.unreadable > 0) return 'there are folders that cannot be read';
  if (tooMany !== null) return tooMany;
  const how = options.findHiding?.() ?? null;
  return how === null ? null : `there is ${how}`;
}

async function measureAll(
  options: GrowthWatchOptions,
  signal: AbortSignal,
  startedAtMs: number,
): Promise<FolderSize> {
  const sizes: FolderSize[] = [];
  for (const path of [options.path, ...(options.others ?? [])])
    sizes.push(await measureFolder(path, signal, startedAtMs, options.maxEntries));
  const sum = (key: 'bytes' | 'entries' | 'unreadable'): number =>
    sizes.reduce((total, size) => total + size[key], 0);
  return {
    bytes: sum('bytes') + (options.unseenBytes?.() ?? 0),
    entries: sum('entries'),
    unreadable: sum('unreadable'),
    isPartial: sizes.some((size) => size.isPartial),
  };
}

const statDisk = promisify(statfs);

async function readDisk(path: string): Promise<{ usedBytes: number; freeBytes: number }> {
  const { blocks, bfree, bavail, bsize } = await statDisk(path);
  return { usedBytes: (blocks - bfree) * bsize, freeBytes: bavail * bsize };
}

/** Each pause resolves with `false` when the watch was stopped meanwhile. One listener for all: an idle worker has many. */
function createPauses(signal: AbortSignal): (ms: number) => Promise<boolean> {
  let end = (): void => undefined;
  signal.addEventListener('abort', () => end(), { once: true });
  return (ms) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const timer = setTimeout(() => resolve(true), ms).unref();
      end = () => {
        clearTimeout(timer);
        resolve(false);
      };
    });
}
