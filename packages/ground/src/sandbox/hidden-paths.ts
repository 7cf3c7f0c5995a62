// What the sandbox never shows of the host.
//
// Started by root, the program inside is root's own uid to the kernel, only without a single capability. It still owns
// root's files, and /proc/sys would be writable (bubblewrap 0.8 leaves it so). Files that only root may read are
// therefore removed from the view; an ordinary user could not open them anyway. /etc and /var: see system-view.ts.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { unlessErrno } from '../platform/index.ts';
import type { SandboxSpec } from './contract.ts';
import { findRealPath, findStats } from './real-path.ts';
import { LISTED_FOLDERS } from './system-view.ts';

/** Paths replaced by empty ones, and paths that stay visible but cannot be written. */
export interface HiddenPaths {
  readonly folders: readonly string[];
  readonly files: readonly string[];
  readonly readOnly: readonly string[];
}

const ALWAYS_HIDDEN = ['/root', '/home', '/run'];

/** What only root may read and no build or test needs. Every mount costs a start 0.1 ms: empty ones are skipped. */
const ROOTS_OWN = ['/boot', '/sys/kernel/debug', '/sys/kernel/tracing', '/sys/fs/bpf', '/sys/firmware/efi'];

/** Where people and packages put their own folders, to look for closed ones. */
const OPEN_FOLDERS = ['/', '/opt', '/srv', '/mnt', '/media', '/usr/local', '/usr/local/etc'];

/** Folders of the host that are never shown as they are: a tool inside must be made visible. */
export function listReplacedFolders(): string[] {
  return ['/tmp', '/var/tmp', ...ALWAYS_HIDDEN, ...LISTED_FOLDERS, ...listClosed()];
}

/** As root: what others may not enter or read. An ordinary user could not open it anyway. */
function listClosed(): string[] {
  if (process.geteuid?.() !== 0) return [];
  const known = new Set([...ALWAYS_HIDDEN, '/proc', '/tmp', '/dev', '/sys']);
  return OPEN_FOLDERS.flatMap((folder) => {
    if (findStats(folder)?.isDirectory() !== true) return [];
    return readdirSync(folder)
      .map((name) => join(folder, name))
      .filter((path) => !known.has(path) && isClosed(path));
  });
}

function isClosed(path: string): boolean {
  const stats = findStats(path);
  if (stats === null || stats.isSymbolicLink()) return false;
  const needed = stats.isDirectory() ? 0o005 : 0o004;
  return (stats.mode & needed) !== needed;
}

/** Folders of /proc with settings of the whole machine; bubblewrap itself handles `irq` and `bus`. */
const PROC_SWITCHES = ['sys', 'fs', 'acpi', 'driver', 'scsi', 'dynamic_debug'];

/** Everything to be hidden for this spec. Missing paths are left out here, so that no mount point is ever made for one. */
export function listHidden(spec: SandboxSpec, vanished: ReadonlySet<string>): HiddenPaths {
  const isRoot = process.geteuid?.() === 0;
  const wanted = [
    ...ALWAYS_HIDDEN,
    ...homeFolders(),
    ...spec.hide,
    ...(isRoot ? ROOTS_OWN.filter(holdsSomething) : []),
    ...listClosed().filter((path) => !vanished.has(path)),
  ];
  const folders: string[] = [];
  const files: string[] = [];
  for (const path of new Set(wanted)) {
    const real = findRealPath(path);
    if (real === null || real === '/') continue;
    (findStats(real)?.isDirectory() ? folders : files).push(real);
  }
  const proc = listProcSwitches();
  files.push(
    ...(isRoot ? proc.files : []),
    ...listGroupTables(),
    ...listReachableSockets().filter((path) => !vanished.has(path)),
  );
  return { folders, files, readOnly: proc.folders };
}

/** HOME may have been changed, and a uid may have no account: both places are read. */
function homeFolders(): string[] {
  const homes = [attempt(homedir), attempt(() => userInfo().homedir)];
  return homes.filter((path) => path !== null).filter((path) => path.startsWith('/') && path !== '/');
}

function attempt(read: () => string): string | null {
  try {
    return read();
  } catch (error) {
    if ((error as { info?: { code?: string } }).info?.code === 'ENOENT') return null;
    throw error;
  }
}

let procSwitches: { folders: string[]; files: string[] } | undefined;

/** Entries of /proc that belong to the machine and that root's uid could write. They are fixed until the next boot. */
export function listProcSwitches(): { folders: string[]; files: string[] } {
  if (procSwitches !== undefined) return procSwitches;
  const folders: string[] = [];
  const files: string[] = [];
  for (const name of readdirSync('/proc')) {
    if (/^\d/.test(name)) continue;
    const path = `/proc/${name}`;
    const stats = findStats(path);
    if (PROC_SWITCHES.includes(name) && hasWritableFile(path)) folders.push(path);
    if (stats?.isFile() && (stats.mode & 0o222) !== 0) files.push(path);
  }
  procSwitches = { folders, files };
  return procSwitches;
}

/**
 * In its cgroup namespace a program is at the root, and mounts of v1 have a root above that. Java 17 fails at the
 * difference; without this table it does not look for groups.
 */
function listGroupTables(): string[] {
  return /^\d+:(?!name=)[^:]/m.test(readFileSync('/proc/self/cgroup', 'utf8')) ? ['/proc/cgroups'] : [];
}

/** What a file system that is being unmounted had there is gone by the time it is looked at. */
function hasWritableFile(folder: string): boolean {
  const entries = unlessErrno(() => readdirSync(folder, { withFileTypes: true }), [], 'ENOENT');
  return entries.some((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? hasWritableFile(path) : ((findStats(path)?.mode ?? 0) & 0o222) !== 0;
  });
}

function holdsSomething(path: string): boolean {
  const stats = findStats(path);
  if (stats === null) return false;
  return stats.isDirectory() ? readdirSync(path).length > 0 : stats.size > 0;
}

/** Address, counts, flags, type, state and inode come before the name; one that begins with @ is no file. */
const SOCKET_LINE = /^(?:\S+\s+){7}([^@].*)$/;

/**
 * A read-only mount does not stop a connect. Sockets of the host outside the hidden folders (a database in /var/lib, a
 * daemon in /opt) are covered one by one; the kernel lists them by the name of their bind.
 */
function listReachableSockets(): string[] {
  const names = readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .slice(1)
    .flatMap((line) => SOCKET_LINE.exec(line)?.[1] ?? []);
  const relative = names.filter((name) => !name.startsWith('/'));
  const folders = relative.length === 0 ? [] : listWorkingFolders();
  const paths = new Set<string>();
  for (const name of names) {
    for (const path of name.startsWith('/') ? [name] : folders.map((folder) => join(folder, name))) {
      const real = findRealPath(path);
      if (real !== null && findStats(real)?.isSocket()) paths.add(real);
    }
  }
  return [...paths];
}

/** A relative name is relative to the owner's folder at the bind, which most daemons never leave. */
function listWorkingFolders(): string[] {
  const folders = new Set<string>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d/.test(name)) continue;
    const folder = findWorkingFolder(name);
    if (folder !== null) folders.add(folder);
  }
  return [...folders];
}

/** `null` for a process that is gone, or that another user runs: then it is unknown. */
function findWorkingFolder(pid: string): string | null {
  return unlessErrno(() => readlinkSync(`/proc/${pid}/cwd`), null, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM');
}
