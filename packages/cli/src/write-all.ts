/** Writes without holding up this process, however slow the reader is: node writes to a pipe in its own thread's time. */
import { write } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const FULL_MS = 5;

/** Resolves with false when there is no reader any more; rejects when the bytes find no room. */
export async function writeAll(fd: number, bytes: Uint8Array): Promise<boolean> {
  let at = 0;
  while (at < bytes.length) {
    const result = await writeSome(fd, bytes, at);
    if (result === 'gone') return false;
    if (result === 'full') await pause(FULL_MS);
    else at += result;
  }
  return true;
}

function writeSome(fd: number, bytes: Uint8Array, at: number): Promise<number | 'full' | 'gone'> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, at, bytes.length - at, null, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === 'EAGAIN') resolve('full');
      else if (isReaderGone(error)) resolve('gone');
      else reject(error);
    });
  });
}

/** `caisson runs | head -1` closes our stdout early: no error, there is only no reader left. */
export function isReaderGone({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'EIO';
}
