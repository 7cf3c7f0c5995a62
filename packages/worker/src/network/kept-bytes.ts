/**
 * Memory for bodies that are read when they are complete. The sandbox chooses how a body is cut into chunks, so the bytes
 * are copied: a list of chunks costs a hundred times its content when each has one byte.
 */
const FIRST_BYTES = 4096;
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

/** How much of one kind an attempt keeps at once, over all its bodies. */
export interface KeepLimit {
  /** Whether this many more bytes may be kept; they then count until they are released. */
  take(bytes: number): boolean;
  release(bytes: number): void;
}

export function createKeepLimit(maxBytes = MAX_KEPT_BYTES): KeepLimit {
  let kept = 0;
  return {
    take(bytes) {
      if (kept + bytes > maxBytes) return false;
      kept += bytes;
      return true;
    },
    release: (bytes) => void (kept -= bytes),
  };
}

export interface KeptBytes {
  /** What exceeds a limit is only counted, and what was kept before it is released. */
  add(chunk: Buffer): void;
  /** All that was added, kept or not. */
  readonly bytes: number;
  /** Null when it was too much to keep. */
  text(): string | null;
  /** Releases the memory and begins anew. */
  clear(): void;
}

/** One body of at most `maxBytes`, under the limit of all. */
export function createKeptBytes(maxBytes: number, limit: KeepLimit): KeptBytes {
  let memory = Buffer.alloc(0);
  let bytes = 0;
  let isKept = true;
  const release = (): void => {
    limit.release(memory.length);
    memory = Buffer.alloc(0);
  };
  const grow = (needed: number): boolean => {
    if (needed <= memory.length) return true;
    if (needed > maxBytes) return false;
    const size = Math.min(maxBytes, Math.max(FIRST_BYTES, needed, memory.length * 2));
    if (!limit.take(size - memory.length)) return false;
    const larger = Buffer.allocUnsafeSlow(size);
    memory.copy(larger, 0, 0, bytes);
    memory = larger;
    return true;
  };
  return {
    add(chunk) {
      if (isKept && grow(bytes + chunk.length)) chunk.copy(memory, bytes);
      else if (isKept) {
        isKept = false;
        release();
      }
      bytes += chunk.length;
    },
    get bytes() {
      return bytes;
    },
    text: () => (isKept ? memory.toString('utf8', 0, bytes) : null),
    clear() {
      release();
      bytes = 0;
      isKept = true;
    },
  };
}
