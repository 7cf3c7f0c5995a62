/**
 * The body of an HTTP message in few large pieces. Who sends a body chooses its chunks, and one read of a socket may hold
 * ten thousand of them with one byte each: hundreds of bytes of memory for each that waits, and 20 ms to take them.
 *
 * GC1  Chunks are copied into one buffer at once: what waits for the reader is one piece.
 * GC2  While much waits, or after many chunks, the socket is not read.
 * GC3  Sockets that brought many chunks are read one per turn of the event loop: many of them hold it no longer than one.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createPile, type Pile } from './pile.ts';

/** Of sockets: what may wait to be written, before a writer has to wait. A piece is written whole, whatever its size. */
export const MAX_WAITING_BYTES = 1024;
const MUCH_BYTES = 64 * 1024;
const MANY_CHUNKS = 1000;

/** `abandon` is called if the reader goes away before the end of the body. */
export function gatherChunks(message: IncomingMessage, abandon: () => void): Readable {
  const { socket } = message; // a message that is destroyed has none
  const pile = createPile();
  let isWanted = false;
  let isQueued = false;
  let isHeld = false;
  const take = (chunk: Buffer): void => {
    pile.add(chunk);
    if (isWanted) flushSoon();
    if (!isLarge(pile) || message.complete) return; // a socket whose message is complete may have the next one
    isHeld = true;
    socket.pause(); // GC2
  };
  const flushSoon = (): void => {
    if (!isQueued) setImmediate(flush); // after the last chunk of this read
    isQueued = true;
  };
  const flush = (): void => {
    isQueued = false;
    if (gathered.destroyed) return;
    if (pile.bytes > 0 && isWanted) {
      const hadMany = pile.chunks >= MANY_CHUNKS;
      isWanted = false;
      gathered.push(pile.take());
      release(hadMany);
    }
    if (pile.bytes === 0 && message.readableEnded) gathered.push(null);
  };
  const release = (isInTurn: boolean): void => {
    if (!isHeld) return;
    isHeld = false;
    if (isInTurn) resumeInTurn(socket);
    else socket.resume();
  };
  const gathered = new Readable({
    highWaterMark: 1,
    read() {
      isWanted = true;
      if (pile.bytes > 0) flushSoon();
    },
    destroy(error, done) {
      message.off('data', take);
      release(true);
      if (!message.readableEnded) abandon();
      done(error);
    },
  });
  // A message resumes its socket after every chunk, which would undo each pause.
  message._read = () => undefined;
  message.on('data', take);
  message.once('end', () => {
    release(true);
    flushSoon();
  });
  message.once('error', (error) => gathered.destroy(error));
  message.once('close', () => {
    if (!message.readableEnded) gathered.destroy(new Error('aborted'));
  });
  return gathered;
}

function isLarge({ bytes, chunks }: Pile): boolean {
  return bytes >= MUCH_BYTES || chunks >= MANY_CHUNKS;
}

const inTurn: Socket[] = [];

/** GC3 */
function resumeInTurn(socket: Socket): void {
  if (inTurn.push(socket) === 1) setImmediate(resumeNext);
}

function resumeNext(): void {
  inTurn.shift()?.resume();
  if (inTurn.length > 0) setImmediate(resumeNext);
}
