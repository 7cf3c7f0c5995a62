import { Transform } from 'node:stream';

const CR = 13;
const LF = 10;

/**
 * Normalises the line ends of an event stream. Both forms are allowed, but some clients read CR and LF as two line ends
 * when one ends a packet and the other begins the next, and lose the event. Contents never have a bare line end.
 */
export function plainLineEnds(): Transform {
  let isHeld = false; // a CR that was the last byte so far
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const whole = isHeld ? Buffer.concat([Buffer.of(CR), chunk]) : chunk;
      isHeld = whole.at(-1) === CR;
      done(null, withoutCr(isHeld ? whole.subarray(0, -1) : whole));
    },
    flush(done) {
      done(null, isHeld ? Buffer.of(CR) : undefined);
    },
  });
}

function withoutCr(chunk: Buffer): Buffer {
  if (!chunk.includes(CR)) return chunk;
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = chunk.indexOf(CR); at !== -1; at = chunk.indexOf(CR, at + 1)) {
    if (chunk[at + 1] !== LF) continue;
    parts.push(chunk.subarray(from, at));
    from = at + 1;
  }
  parts.push(chunk.subarray(from));
  return Buffer.concat(parts);
}
