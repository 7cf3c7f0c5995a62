/** The socket on which a daemon serves (DM2). Only the holder of the lease may open it. */
import { openKeptSocket, type KeptSocket, type KeptSocketOptions } from '@caisson/ground';

export const SOCKET_NAME = 'daemon.sock';

export interface DaemonSocketOptions extends Pick<KeptSocketOptions, 'folder' | 'accept' | 'isInPlace'> {
  warn(message: string): void;
}

export type DaemonSocket = KeptSocket;

export function openDaemonSocket({ warn, ...options }: DaemonSocketOptions): Promise<DaemonSocket> {
  return openKeptSocket({
    ...options,
    name: SOCKET_NAME,
    onMadeAgain: () => warn('the socket was removed and is made again'),
    onFailed: ({ message }) => warn(`the socket: ${message}`),
  });
}
