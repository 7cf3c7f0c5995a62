/**
 * Reports changed files of a project. Each folder that can matter is watched by itself: a recursive watch would also watch what
 * nobody asked for, such as installed packages.
 *
 * FW1  Changes within DEBOUNCE_MS are one report. A file that came with its folder is reported, too.
 * FW2  At most MAX_FOLDERS are watched; a warning says when there are more.
 * FW3  One look at a time, whatever happens: many names of one folder are one look at all of it.
 */
import { watch, type Dirent, type FSWatcher } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Clock } from '@caisson/ground';
import { UNWATCHED_FOLDERS } from '@caisson/protocol';

export interface FileInterest {
  /** The folder below which it is interested, relative to the project; empty for all of it. */
  readonly base: string;
  /** Of a path relative to the project. */
  matches(path: string): boolean;
  onChanged(paths: readonly string[]): void;
}

export interface FileWatch {
  /** These and no others. Resolves when their folders are watched. */
  set(interests: readonly FileInterest[]): Promise<void>;
  stop(): void;
}

const DEBOUNCE_MS = 50;
const MAX_FOLDERS = 4096;
const MAX_PATHS = 256;
/** Names of one folder that are looked at one by one. */
const MAX_NAMES = 64;
const UNWATCHED = new Set(UNWATCHED_FOLDERS);

export interface FileWatchOptions {
  readonly root: string;
  readonly clock: Pick<Clock, 'setTimer'>;
  warn(message: string): void;
}

export function createFileWatch(options: FileWatchOptions): FileWatch {
  return new FolderWatch(options);
}

class FolderWatch implements FileWatch {
  readonly #options: FileWatchOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #changed = new Set<string>();
  /** Names that came or went, by their folder; beyond MAX_NAMES they are not all here. */
  readonly #pending = new Map<string, Set<string>>();
  #isLooking = false;
  #interests: readonly FileInterest[] = [];
  #cancelReport: (() => void) | null = null;
  #problem = '';
  #isStopped = false;

  constructor(options: FileWatchOptions) {
    this.#options = options;
  }

  async set(interests: readonly FileInterest[]): Promise<void> {
    this.#interests = interests;
    for (const folder of this.#watchers.keys()) if (!this.#canMatter(folder)) this.#unwatch(folder);
    if (interests.length > 0) await this.#enter('', { isNew: false });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelReport?.();
    for (const folder of this.#watchers.keys()) this.#unwatch(folder);
  }

  /** Watches a folder and what is in it. In a new one every file has changed. */
  async #enter(folder: string, { isNew }: { readonly isNew: boolean }): Promise<void> {
    if (this.#isStopped || !this.#canMatter(folder) || !this.#watch(folder)) return;
    const found = await readdir(join(this.#options.root, folder), { withFileTypes: true }).catch(
      (): Dirent[] => [],
    );
    for (const entry of found) {
      const path = joinPath(folder, entry.name);
      if (entry.isDirectory()) await this.#enter(path, { isNew });
      else if (isNew) this.#note(path);
    }
  }

  /** Whether something below, or above, is of interest. */
  #canMatter(folder: string): boolean {
    const name = folder.slice(folder.lastIndexOf('/') + 1);
    if (UNWATCHED.has(name) || this.#interests.length === 0) return false;
    return this.#interests.some(({ base }) => isBelow(folder, base) || isBelow(base, folder));
  }

  #watch(folder: string): boolean {
    if (this.#watchers.has(folder)) return true;
    if (this.#watchers.size >= MAX_FOLDERS) {
      this.#report(`more than ${MAX_FOLDERS} folders; changes in the others are not noticed`);
      return false;
    }
    try {
      const place = join(this.#options.root, folder);
      const watcher = watch(place, { persistent: false }, (event, name) => this.#see(folder, event, name));
      watcher.on('error', () => this.#unwatch(folder));
      this.#watchers.set(folder, watcher);
      return true;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR') this.#report(message);
      return false;
    }
  }

  #unwatch(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  #see(folder: string, event: string, name: string | null): void {
    if (name === null || this.#isStopped) return;
    const path = joinPath(folder, name);
    this.#note(path);
    if (event !== 'rename' || !this.#canMatter(path)) return;
    // A folder that was replaced has another inode: its old watch sees nothing.
    if (this.#watchers.has(path))
      for (const known of this.#watchers.keys()) if (isBelow(known, path)) this.#unwatch(known);
    const names = this.#pending.get(folder) ?? new Set();
    if (names.size <= MAX_NAMES) this.#pending.set(folder, names.add(name));
    if (!this.#isLooking) void this.#lookAtPending();
  }

  /** FW3. Never rejects. */
  async #lookAtPending(): Promise<void> {
    this.#isLooking = true;
    for (const [folder, names] of this.#pending) {
      if (this.#isStopped) break;
      this.#pending.delete(folder); // what comes from here on is looked at again
      for (const name of await this.#findFolders(folder, names)) {
        const path = joinPath(folder, name);
        if (!this.#watchers.has(path)) await this.#enter(path, { isNew: true });
      }
    }
    this.#isLooking = false;
  }

  async #findFolders(folder: string, names: ReadonlySet<string>): Promise<string[]> {
    const place = join(this.#options.root, folder);
    if (names.size > MAX_NAMES) {
      const entries = await readdir(place, { withFileTypes: true }).catch((): Dirent[] => []);
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    }
    const found: string[] = [];
    for (const name of names) {
      const stats = await lstat(join(place, name)).catch(() => null);
      if (stats?.isDirectory() === true) found.push(name);
    }
    return found;
  }

  #note(path: string): void {
    if (!this.#interests.some(({ matches }) => matches(path))) return;
    this.#changed.add(path);
    this.#cancelReport ??= this.#options.clock.setTimer(DEBOUNCE_MS, () => {
      this.#cancelReport = null;
      const paths = [...this.#changed];
      this.#changed.clear();
      for (const { matches, onChanged } of this.#interests) {
        const own = paths.filter((changed) => matches(changed)).slice(0, MAX_PATHS);
        if (own.length > 0) onChanged(own);
      }
    });
  }

  /** Repeated problems are reported once. */
  #report(problem: string): void {
    if (this.#problem === problem) return;
    this.#problem = problem;
    this.#options.warn(`files of the project are not watched: ${problem}`);
  }
}

/** The folder before the first part with a wildcard. A pattern without a slash is a name in any folder. */
export function findBase(pattern: string): string {
  const parts = pattern.replace(/^\.\//, '').replace(/\/$/, '').split('/');
  const wild = parts.findIndex((part) => /[*?[\]{}()!+@]/.test(part));
  if (parts.length === 1 && !pattern.startsWith('./')) return '';
  return parts.slice(0, wild === -1 ? -1 : wild).join('/');
}

/** Whether a path is this folder or in it. */
export function isBelow(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

/** Relative to the project; null outside of it. */
export function findInside(root: string, path: string): string | null {
  const inside = relative(root, path);
  return inside.startsWith('..') || inside.startsWith('/') ? null : inside;
}

function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
