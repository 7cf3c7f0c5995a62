/**
 * What a command prints, to the host as it comes. A slow reader slows the command down, as in any pipe; it never holds up
 * an order to stop, and a reader that is gone slows nothing.
 */
import { Socket } from 'node:net';
import { encodeFrameHead, type OutputName } from '@caisson/protocol';

const OUTPUT_FD = 4;
const MAX_WAITING_BYTES = 1024 * 1024;

export interface AttachedOutput {
  write(name: OutputName, bytes: Buffer): void;
  /** Resolves when there is room for more; null if there is room now. */
  room(): Promise<void> | null;
  /** Resolves when everything is sent, or cannot be. */
  close(): Promise<void>;
}

export function openAttachedOutput(stop: AbortSignal): AttachedOutput {
  const socket = new Socket({ fd: OUTPUT_FD, readable: false, writable: true });
  const isOver = (): boolean => stop.aborted || socket.destroyed;
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  socket.on('error', () => socket.destroy());
  for (const event of ['drain', 'close', 'finish']) socket.on(event, wake);
  stop.addEventListener('abort', wake);
  const wait = (): Promise<void> => new Promise((resolve) => waiting.add(resolve));
  return {
    write(name, bytes) {
      if (isOver() || bytes.length === 0) return;
      socket.cork(); // both in one call of the system
      socket.write(encodeFrameHead(name, bytes.length));
      socket.write(bytes);
      socket.uncork();
    },
    room: () => (isOver() || socket.writableLength < MAX_WAITING_BYTES ? null : wait()),
    async close() {
      socket.end();
      if (!isOver() && !socket.writableFinished) await wait();
    },
  };
}
