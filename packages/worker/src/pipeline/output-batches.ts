/**
 * Output in fewer and larger pieces: to redact, record and pass on a piece takes about as long whether it has 4 kB or 64.
 * What comes after a pause is passed on at once.
 */
import type { OutputName } from '@caisson/protocol';

const ENOUGH_BYTES = 64 * 1024;
const MAX_WAIT_MS = 4;

export interface OutputBatches {
  push(name: OutputName, chunk: Buffer): void;
  flush(): void;
}

/** Both streams in one, so that they stay in the order in which they came. */
export function createOutputBatches(take: (name: OutputName, bytes: Buffer) => void): OutputBatches {
  let name: OutputName = 'stdout';
  let chunks: Buffer[] = [];
  let bytes = 0;
  let takenAtMs = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    takenAtMs = performance.now();
    const [first, ...more] = chunks;
    chunks = [];
    bytes = 0;
    if (first !== undefined) take(name, more.length === 0 ? first : Buffer.concat([first, ...more]));
  };
  return {
    push(from, chunk) {
      if (from !== name) flush();
      name = from;
      chunks.push(chunk);
      bytes += chunk.length;
      const isDue = bytes >= ENOUGH_BYTES || performance.now() - takenAtMs > MAX_WAIT_MS;
      if (isDue) flush();
      else timer ??= setTimeout(flush, MAX_WAIT_MS);
    },
    flush,
  };
}
