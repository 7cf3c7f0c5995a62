import type { Socket } from 'node:net';

/** A service that has not answered by then is down or blocked; the system alone would try for two minutes. */
export const CONNECT_MS = 10_000;

/** Ends a socket that is not connected in time. `onConnected` is called at once for one that already is. */
export function awaitConnection(socket: Socket, isSecure: boolean, onConnected: () => void): void {
  if (!socket.connecting) {
    onConnected();
    return;
  }
  const timer = setTimeout(
    () => socket.destroy(new Error(`no connection within ${CONNECT_MS / 1000} s`)),
    CONNECT_MS,
  );
  socket.once(isSecure ? 'secureConnect' : 'connect', () => {
    clearTimeout(timer);
    onConnected();
  });
  socket.once('close', () => clearTimeout(timer));
}
