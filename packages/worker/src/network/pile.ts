const FIRST_BYTES = 4096;

/** Bytes that were copied together. */
export interface Pile {
  readonly bytes: number;
  /** In how many chunks they came. */
  readonly chunks: number;
  add(chunk: Buffer): void;
  /** All of it; the pile is empty then. */
  take(): Buffer;
}

export function createPile(): Pile {
  let memory: Buffer = Buffer.alloc(0);
  let bytes = 0;
  let chunks = 0;
  return {
    get bytes() {
      return bytes;
    },
    get chunks() {
      return chunks;
    },
    add(chunk) {
      if (bytes === 0) {
        memory = chunk; // what comes alone is passed on as it is
      } else {
        if (bytes + chunk.length > memory.length) memory = enlarge(memory, bytes + chunk.length);
        chunk.copy(memory, bytes);
      }
      bytes += chunk.length;
      chunks += 1;
    },
    take() {
      const all = memory.subarray(0, bytes);
      memory = Buffer.alloc(0);
      bytes = 0;
      chunks = 0;
      return all;
    },
  };
}

function enlarge(memory: Buffer, neededBytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * neededBytes));
  memory.copy(larger);
  return larger;
}
