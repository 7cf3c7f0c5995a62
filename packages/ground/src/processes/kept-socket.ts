/** A socket in a folder of ours that is made again when it, or its folder, is removed. */
import { closeSync, fstatSync, mkdirSync, openSync, rmSync, statSync, watch, type FSWatcher } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { listenPrivately, pathOfDescriptor } from './folder-socket.ts';

export interface KeptSocketOptions {
  readonly folder: string;
  readonly name: string;
  accept(connection: Socket): void;
  /** Whether the folder's path is still the one that was meant: a project may be moved. */
  isInPlace(): boolean;
  /** It was removed and is there again. */
  onMadeAgain(): void;
  /** It was removed and cannot be made now: the next look tries again. */
  onFailed(error: Error): void;
  /** Whether waiting for connections keeps this process alive. Default true. */
  readonly holdsProcess?: boolean;
}

export interface KeptSocket {
  readonly path: string;
  /** Makes the socket again if it was removed. */
  check(): Promise<void>;
  /** Idempotent. Open connections stay. */
  close(): Promise<void>;
}

/** What another process left at the path is removed: only one that knows that it is dead may call it. */
export async function openKeptSocket(options: KeptSocketOptions): Promise<KeptSocket> {
  let bound: Bound | null = null;
  let checking: Promise<void> | null = null;
  let isClosed = false;
  const drop = (): void => {
    if (bound !== null) unbind(options, bound);
    bound = null;
  };
  const checkOnce = async (): Promise<void> => {
    if (isClosed || (bound !== null && isBound(options, bound)) || !options.isInPlace()) return;
    drop();
    bound = await bind(options, look);
    options.onMadeAgain();
  };
  const check = (): Promise<void> => (checking ??= checkOnce().finally(() => (checking = null)));
  const look = (): void => void check().catch((error: unknown) => options.onFailed(error as Error));
  bound = await bind(options, look);
  return {
    path: join(options.folder, options.name),
    check,
    async close() {
      isClosed = true;
      await checking?.catch(() => undefined);
      drop();
    },
  };
}

interface Bound {
  readonly fd: number;
  readonly server: Server;
  readonly inode: bigint;
  readonly watcher: FSWatcher | null;
}

async function bind(
  { folder, name, accept, holdsProcess = true }: KeptSocketOptions,
  look: () => void,
): Promise<Bound> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fd = openSync(folder, 'r');
  try {
    const path = `${pathOfDescriptor(fd)}/${name}`;
    rmSync(path, { force: true });
    const server = createServer(accept);
    await listenPrivately(server, path);
    if (!holdsProcess) server.unref();
    const inode = statSync(path, { bigint: true }).ino;
    return { fd, server, inode, watcher: watchFolder(fd, name, look) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Closing removes the file by its path, which needs the descriptor: without it, the socket of another process stays. */
function unbind({ name }: KeptSocketOptions, { fd, server, inode, watcher }: Bound): void {
  watcher?.close();
  const isOwn = inodeAt(`${pathOfDescriptor(fd)}/${name}`) === inode;
  if (!isOwn) closeSync(fd);
  server.close();
  if (isOwn) closeSync(fd);
}

/** Whether a process that opens the path reaches us. */
function isBound({ folder, name }: KeptSocketOptions, { fd, inode }: Bound): boolean {
  return inodeAt(folder) === fstatSync(fd, { bigint: true }).ino && inodeAt(join(folder, name)) === inode;
}

function inodeAt(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/** Best effort: the caller's timer looks too. */
function watchFolder(fd: number, ownName: string, look: () => void): FSWatcher | null {
  try {
    const watcher = watch(pathOfDescriptor(fd), { persistent: false }, (_event, name) => {
      if (name === null || name === ownName) look();
    });
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}
