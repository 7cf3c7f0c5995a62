import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const HEADER_BYTES = 100;

/**
 * How much of the file is gone, in words, or null when it is as long as its own header says. Only for a file that
 * SQLite has refused: while somebody checkpoints, a sound one may be shorter for a moment, too.
 */
export function findMissingEnd(file: string): string | null {
  const header = Buffer.alloc(HEADER_BYTES);
  let size: number;
  try {
    const descriptor = openSync(file, 'r');
    try {
      if (readSync(descriptor, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return null;
      ({ size } = fstatSync(descriptor));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null; // what SQLite said of it stands
  }
  // Page size and number of pages, as https://sqlite.org/fileformat.html puts them.
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const whole = pageBytes * header.readUInt32BE(28);
  return size < whole ? `it ends after ${size} of ${whole} bytes` : null;
}
