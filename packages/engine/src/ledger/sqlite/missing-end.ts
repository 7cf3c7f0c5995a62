import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';

const HEADER_BYTES = 100;

/**
 * How much of the file is gone, in words, or null when it is as long as its own header says. Only for a file that
 * SQLite has refused: during a checkpoint a sound one may be shorter for a moment, too.
 */
export function findMissingEnd(file: string): string | null {
  const found = readLength(file);
  return found === null || found.size >= found.whole ? null : describe(found);
}

/**
 * The same for a file that ends within a page: SQLite would silently fill the rest with zeros. It always writes whole
 * pages; after a checkpoint that a full disk interrupted, the log still has the page.
 */
export function findCutPage(file: string): string | null {
  const found = readLength(file);
  if (found === null || found.size % found.pageBytes === 0) return null;
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0 ? describe(found) : null;
}

interface Length {
  readonly size: number;
  readonly pageBytes: number;
  /** What the header says. */
  readonly whole: number;
}

function describe({ size, whole }: Length): string {
  return `it ends after ${size} of ${whole} bytes`;
}

/** Null if the file does not show it. */
function readLength(file: string): Length | null {
  const header = Buffer.alloc(HEADER_BYTES);
  try {
    const descriptor = openSync(file, 'r');
    try {
      if (readSync(descriptor, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return null;
      // Page size and number of pages, as in https://sqlite.org/fileformat.html.
      const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
      if (pageBytes < 512) return null; // no database
      return { size: fstatSync(descriptor).size, pageBytes, whole: pageBytes * header.readUInt32BE(28) };
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null; // SQLite's own message is used
  }
}
