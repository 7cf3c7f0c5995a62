/** In the main thread: what the threads of one module have loaded (pin-files.ts). What is known is never replaced. */
import type { PinnedFiles, ThreadLine } from './thread-messages.ts';

/** Of all files of a module; what exceeds it is read again by each thread. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

export interface PinnedFileStore {
  /** For the next thread. */
  readonly files: PinnedFiles;
  add(line: Extract<ThreadLine, { readonly kind: 'pinned' }>): void;
}

export function createPinnedFiles(): PinnedFileStore {
  const ways = new Map<string, { url: string; format: string | null }>();
  const sources = new Map<string, { format: string | null; source: string }>();
  let left = MAX_CHARACTERS;
  const pay = (...texts: readonly string[]): boolean => {
    const cost = texts.reduce((sum, text) => sum + text.length, 0);
    if (cost > left) return false;
    left -= cost;
    return true;
  };
  return {
    files: { ways, sources },
    add(line) {
      if (!('source' in line)) {
        const { way, url, format } = line;
        if (!ways.has(way) && pay(way, url)) ways.set(way, { url, format });
        return;
      }
      const { url, format, source } = line;
      if (!sources.has(url) && pay(url, source)) sources.set(url, { format, source });
    },
  };
}
