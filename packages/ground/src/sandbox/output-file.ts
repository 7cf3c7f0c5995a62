// A file instead of a pipe, for programs that exit before a slow reader has read their output: a write to a file is
// done when it returns. The file has no name, and a mode that prevents a second open (`> /dev/stdout` would empty it).
import { randomBytes } from 'node:crypto';
import { close, constants, openSync, read, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isErrno } from '../platform/index.ts';
import { O_TMPFILE } from './anonymous-file.ts';

const { O_APPEND, O_CREAT, O_EXCL, O_RDWR } = constants;
const CHUNK_BYTES = 256 * 1024;
const POLL_MS = 20;

export interface FollowedFile {
  readonly stream: Readable;
  /** There is no writer any more: the stream ends with the file. */
  end(): void;
}

/** A descriptor to write to and to read from at a position. */
export function openOutputFile(folder: string): number {
  try {
    return openSync(folder, O_TMPFILE | O_RDWR | O_APPEND, 0);
  } catch (error) {
    if (!isErrno(error, 'EOPNOTSUPP')) throw error;
    const path = join(folder, `.output-${randomBytes(8).toString('hex')}`);
    const fd = openSync(path, O_CREAT | O_EXCL | O_RDWR | O_APPEND, 0);
    unlinkSync(path);
    return fd;
  }
}

/** Streams what is appended to the file; owns the descriptor. */
export function followFile(fd: number): FollowedFile {
  let position = 0;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const readOn = (): void => {
    timer = undefined;
    const wasOver = isOver; // looked at first: what was written before the end is read
    read(fd, Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, position, (error, size, bytes) => {
      if (stream.destroyed) return;
      if (error !== null) return void stream.destroy(error);
      position += size;
      if (size > 0) stream.push(bytes.subarray(0, size));
      else if (wasOver) stream.push(null);
      else timer = setTimeout(readOn, isOver ? 0 : POLL_MS);
    });
  };
  const stream = new Readable({
    read: readOn,
    destroy: (error, done) => {
      clearTimeout(timer);
      close(fd, (failed) => done(error ?? failed ?? null));
    },
  });
  return {
    stream,
    end() {
      isOver = true;
      if (timer === undefined) return;
      clearTimeout(timer);
      readOn();
    },
  };
}
