import type { Writable } from 'node:stream';

/** What is written to the stream in this turn of the event loop goes out in one piece at its end, not with a system call for each line. */
export function corkTurn(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}
