/** Writes without holding up this process, however slow the reader is: a full pipe is tried again, never waited for. */
import { writev } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** A reader that keeps up empties a pipe in less time than any timer takes. */
const TRIES_AT_ONCE = 4;
const MAX_PAUSE_MS = 5;

/** Resolves with false when there is no reader any more; rejects when the bytes find no room. */
export async function writeAll(fd: number, parts: readonly Uint8Array[]): Promise<boolean> {
  let left = withoutFirst(parts, 0);
  let tries = 0;
  while (left.length > 0) {
    const result = await writeSome(fd, left);
    if (result === 'gone') return false;
    tries = result === 'full' ? tries + 1 : 0;
    if (tries > TRIES_AT_ONCE) await pause(Math.min(tries - TRIES_AT_ONCE, MAX_PAUSE_MS));
    if (result !== 'full') left = withoutFirst(left, result);
  }
  return true;
}

function writeSome(fd: number, parts: readonly Uint8Array[]): Promise<number | 'full' | 'gone'> {
  return new Promise((resolve, reject) => {
    writev(fd, parts, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === 'EAGAIN') resolve('full');
      else if (isReaderGone(error)) resolve('gone');
      else reject(error);
    });
  });
}

/** What is still to be written; no part is empty. */
function withoutFirst(parts: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let skipped = bytes;
  return parts.flatMap((part) => {
    const rest = part.subarray(Math.min(skipped, part.length));
    skipped -= part.length - rest.length;
    return rest.length === 0 ? [] : [rest];
  });
}

/** `caisson runs | head -1` closes our stdout early: no error, there is only no reader left. */
export function isReaderGone({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'EIO';
}
