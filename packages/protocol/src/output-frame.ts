/** What a command prints, on the worker's fd 4: one byte for the stream, four for the length, then the bytes. */
export type OutputName = 'stdout' | 'stderr';

const NAMES: readonly OutputName[] = ['stdout', 'stderr'];
const HEAD_BYTES = 5;

/** What stands before the bytes. */
export function encodeFrameHead(name: OutputName, bytes: number): Uint8Array {
  const head = new Uint8Array(HEAD_BYTES);
  head[0] = NAMES.indexOf(name);
  new DataView(head.buffer).setUint32(1, bytes);
  return head;
}

export interface FramePart {
  readonly name: OutputName;
  readonly bytes: Uint8Array;
}

/** Reads frames in any chunks; a part of a frame is handed on as it comes. */
export function createFrameReader(): (chunk: Uint8Array) => FramePart[] {
  let head = new Uint8Array(0);
  let left = 0;
  let name: OutputName = 'stdout';
  return (chunk) => {
    const parts: FramePart[] = [];
    for (let at = 0; at < chunk.length;) {
      if (left === 0) {
        const more = chunk.subarray(at, at + HEAD_BYTES - head.length);
        head = Uint8Array.of(...head, ...more);
        at += more.length;
        if (head.length < HEAD_BYTES) break;
        name = head[0] === 1 ? 'stderr' : 'stdout';
        left = new DataView(head.buffer).getUint32(1);
        head = new Uint8Array(0);
        continue;
      }
      const bytes = chunk.subarray(at, at + left);
      parts.push({ name, bytes });
      at += bytes.length;
      left -= bytes.length;
    }
    return parts;
  };
}
