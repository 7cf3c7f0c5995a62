/** A long text without its middle: the beginning says what was run, the end how it went. */

/** The share of the space that the beginning gets. */
const HEAD_SHARE = 1 / 4;
const ROOM_FOR_NOTE = 64;

export interface HeadAndTail {
  push(chunk: Buffer): void;
  text(): string;
}

/** Collects a stream of any length in at most `maxBytes`, the note about what is missing included. */
export function createHeadAndTail(maxBytes: number): HeadAndTail {
  const { head: headBytes, tail: tailBytes } = divide(maxBytes);
  let head: Buffer = Buffer.alloc(0);
  let tail: Buffer[] = [];
  let heldInTail = 0;
  let total = 0;
  return {
    push(chunk) {
      total += chunk.length;
      const first = chunk.subarray(0, headBytes - head.length);
      if (first.length > 0) head = Buffer.concat([head, first]);
      const rest = chunk.subarray(first.length);
      if (rest.length === 0) return;
      tail.push(Buffer.from(rest));
      heldInTail += rest.length;
      if (heldInTail < 2 * tailBytes) return; // joined now and then, not for each chunk
      tail = [Buffer.from(Buffer.concat(tail).subarray(-tailBytes))];
      heldInTail = tailBytes;
    },
    text() {
      const last = Buffer.concat(tail).subarray(-tailBytes);
      return joinEnds(
        head.toString('utf8'),
        last.toString('utf8'),
        total - head.length - last.length,
        'bytes',
      );
    },
  };
}

/** The text in at most `max` characters. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text;
  const { head, tail } = divide(max);
  return joinEnds(text.slice(0, head), text.slice(-tail), text.length - head - tail, 'characters');
}

/** What a command printed on both streams, in at most `max` characters: a long one does not take the other's half. */
export function joinOutputs(stdout: string, stderr: string, max: number): string {
  const room = max - 1;
  const half = Math.floor(room / 2);
  const parts = [
    shorten(stdout, Math.max(half, room - stderr.length)),
    shorten(stderr, Math.max(half, room - stdout.length)),
  ];
  return parts.filter((text) => text !== '').join('\n');
}

function divide(max: number): { head: number; tail: number } {
  const room = max - ROOM_FOR_NOTE;
  const head = Math.floor(room * HEAD_SHARE);
  return { head, tail: room - head };
}

function joinEnds(head: string, tail: string, missing: number, unit: string): string {
  return missing <= 0 ? head + tail : `${head}\n[… ${missing} ${unit} left out …]\n${tail}`;
}
