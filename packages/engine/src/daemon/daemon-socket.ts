/** The socket on which a daemon serves (DM2). */
import { closeSync, fstatSync, mkdirSync, openSync, statSync, watch, type FSWatcher } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { removeFileSync, listenPrivately, pathOfDescriptor } from '@caisson/ground';

export const SOCKET_NAME = 'daemon.sock';

export interface DaemonSocketOptions {
  /** Of the project's runtime files. */
  readonly folder: string;
  accept(connection: Socket): void;
  /** Whether the folder's path still belongs to the ledger that is open here. */
  isInPlace(): boolean;
  warn(message: string): void;
}

export interface DaemonSocket {
  readonly path: string;
  /** Makes the socket again if it was removed. */
  check(): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** Only the holder of the lease may call it: what another process left there is removed. */
export async function openDaemonSocket(options: DaemonSocketOptions): Promise<DaemonSocket> {
  let bound: Bound | null = null;
  let checking: Promise<void> | null = null;
  let isClosed = false;
  const drop = (): void => {
    if (bound !== null) unbind(bound);
    bound = null;
  };
  const checkOnce = async (): Promise<void> => {
    if (isClosed || (bound !== null && isBound(options.folder, bound)) || !options.isInPlace()) return;
    drop(); // if it cannot be made now, the next look tries again
    options.warn('the socket was removed and is made again');
    bound = await bind(options, look);
  };
  const check = (): Promise<void> => (checking ??= checkOnce().finally(() => (checking = null)));
  const look = (): void =>
    void check().catch((error: unknown) => options.warn(`the socket: ${(error as Error).message}`));
  bound = await bind(options, look);
  return {
    path: join(options.folder, SOCKET_NAME),
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

async function bind({ folder, accept }: DaemonSocketOptions, look: () => void): Promise<Bound> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fd = openSync(folder, 'r');
  try {
    const path = `${pathOfDescriptor(fd)}/${SOCKET_NAME}`;
    removeFileSync(path);
    const server = createServer(accept);
    await listenPrivately(server, path);
    const inode = statSync(path, { bigint: true }).ino;
    return { fd, server, inode, watcher: watchFolder(fd, look) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Closing removes the file by its path, which needs the descriptor. Open connections stay. */
function unbind({ fd, server, watcher }: Bound): void {
  watcher?.close();
  server.close();
  closeSync(fd);
}

/** Whether a process that opens the path reaches us. */
function isBound(folder: string, { fd, inode }: Bound): boolean {
  const found = statSync(join(folder, SOCKET_NAME), { bigint: true, throwIfNoEntry: false });
  const isSameFolder =
    statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino === fstatSync(fd, { bigint: true }).ino;
  return isSameFolder && found?.ino === inode;
}

/** Best effort: the timer looks too. */
function watchFolder(fd: number, look: () => void): FSWatcher | null {
  try {
    const watcher = watch(pathOfDescriptor(fd), { persistent: false }, (_event, name) => {
      if (name === null || name === SOCKET_NAME) look();
    });
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}
