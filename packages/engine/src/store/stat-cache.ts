/**
 * Which digest a file had when it was last read, so that putting an unchanged folder again reads nothing.
 *
 * An entry counts only while path, size, mtime, ctime, inode and device are all the same, and it is kept only where
 * that proves something:
 *  1. the file system is a local one, whose times come from this machine's clock;
 *  2. the file's times are clearly before the moment we began to read it (git's racy rule): a file that is written
 *     again within one tick of the clock keeps its times and changes its content. The cache is a hint about sources.
 *     What is in the store is still verified on every read.
 */
import { hash } from 'node:crypto';
import { readFileSync, statfsSync, type BigIntStats } from 'node:fs';
import { join } from 'node:path';

import { writeFileAtomic } from '@caisson/ground';

import { ensureFolder, type LocalLayout } from './local-layout.ts';

/** ext2-4, xfs, btrfs, tmpfs, overlayfs, f2fs, zfs: magic numbers of statfs(2). */
const LOCAL_FILE_SYSTEMS = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1,
]);
/** A kernel tick is at most 10 ms; file systems that only keep seconds show times without a fraction. */
const FINE_MARGIN_NS = 20_000_000n;
const COARSE_MARGIN_NS = 2_000_000_000n;
const SECOND_NS = 1_000_000_000n;
const FORMAT = 'caisson/stat-cache/1';

/** `size:mtime:ctime:inode:device` and the digest. */
type CacheEntry = readonly [fingerprint: string, digest: string];

export class StatCache {
  readonly #layout: LocalLayout;
  readonly #file: string;
  readonly #isSafe: boolean;
  readonly #known: ReadonlyMap<string, CacheEntry>;
  readonly #next = new Map<string, CacheEntry>();
  #changed = false;

  constructor(layout: LocalLayout, folder: string) {
    this.#layout = layout;
    this.#file = join(layout.statCache, hash('sha256', folder));
    this.#isSafe = LOCAL_FILE_SYSTEMS.has(statfsSync(folder).type);
    this.#known = this.#isSafe ? readEntries(this.#file) : new Map();
  }

  /** The digest the file had when its stats were last these. */
  find(path: string, stats: BigIntStats): string | null {
    const entry = this.#known.get(path);
    if (entry === undefined || entry[0] !== fingerprint(stats)) return null;
    this.#next.set(path, entry);
    return entry[1];
  }

  /** `stats` were read before and after reading and are equal; `readAtMs` is the wall time before reading. */
  remember(path: string, stats: BigIntStats, digest: string, readAtMs: number): void {
    if (!this.#isSafe || isRacy(stats, readAtMs)) return;
    this.#changed = true;
    this.#next.set(path, [fingerprint(stats), digest]);
  }

  /** Not durable on purpose: losing a hint costs one read. */
  async save(): Promise<void> {
    if (!this.#changed && this.#next.size === this.#known.size) return;
    ensureFolder(this.#layout.statCache);
    const body = JSON.stringify([FORMAT, [...this.#next]]);
    await writeFileAtomic(this.#file, `${hash('sha256', body)}\n${body}`, { durable: false });
  }
}

/** Whether the file could be changed again without its times showing it. */
export function isRacy(stats: BigIntStats, readAtMs: number): boolean {
  const newest = stats.mtimeNs > stats.ctimeNs ? stats.mtimeNs : stats.ctimeNs;
  const isCoarse = stats.ctimeNs % SECOND_NS === 0n;
  const margin = isCoarse ? COARSE_MARGIN_NS : FINE_MARGIN_NS;
  return newest + margin >= BigInt(Math.floor(readAtMs * 1000)) * 1000n;
}

function fingerprint(stats: BigIntStats): string {
  return `${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}:${stats.ino}:${stats.dev}`;
}

/** Anything unreadable or damaged is an empty cache: the files are simply read again. */
function readEntries(file: string): Map<string, CacheEntry> {
  const text = readOrEmpty(file);
  const cut = text.indexOf('\n');
  if (cut === -1 || hash('sha256', text.slice(cut + 1)) !== text.slice(0, cut)) return new Map();
  const parsed: unknown = JSON.parse(text.slice(cut + 1));
  return isCacheFile(parsed) ? new Map(parsed[1]) : new Map();
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // a hint that cannot be read is no hint
  }
}

/** The checksum already proves that we wrote it; only the format's version is unknown. */
function isCacheFile(value: unknown): value is [string, [string, CacheEntry][]] {
  return Array.isArray(value) && value[0] === FORMAT && Array.isArray(value[1]);
}
