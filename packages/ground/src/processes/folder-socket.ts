/**
 * Sockets in our own folders, for this user alone. A socket's path may have at most 107 bytes; through a descriptor of
 * its folder any project path works.
 */
import { closeSync, openSync } from 'node:fs';
import { connect, type Server } from 'node:net';

/** Calls `use` with a short path of the folder, which is valid until it has ended. */
export async function throughFolder<T>(folder: string, use: (prefix: string) => Promise<T>): Promise<T> {
  const fd = openSync(folder, 'r');
  try {
    return await use(pathOfDescriptor(fd));
  } finally {
    closeSync(fd);
  }
}

export function pathOfDescriptor(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

/** Resolves when the server listens at this path, which only this user can connect to. */
export function listenPrivately(server: Server, path: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.on('error', reject); // later, a connection that cannot be accepted: it ends nothing
    // The socket is made inside the call. A longer umask change would affect other files of this process.
    const previous = process.umask(0o177);
    server.listen(path, resolve);
    process.umask(previous);
  });
}

/** A stopped process still has its socket, and another user's socket is not ours to use: only these two mean dead. */
const MEANS_DEAD: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOENT']);

/** Whether a process has this socket open; it may be stopped. */
export function isListening(folder: string, name: string): Promise<boolean> {
  return throughFolder(
    folder,
    (prefix) =>
      new Promise<boolean>((resolve) => {
        const socket = connect(`${prefix}/${name}`);
        socket.once('connect', () => {
          socket.destroy();
          resolve(true);
        });
        socket.once('error', (error: NodeJS.ErrnoException) => resolve(!MEANS_DEAD.has(error.code)));
      }),
  ).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return false;
    throw error;
  });
}
