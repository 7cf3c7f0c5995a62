/**
 * The index of the user's repository, and the files that say how git converts contents. A stranger may have put links, pipes
 * or endless files there: a link is not followed, and what is too large or no regular file is not read.
 */
import {
  FileTooLargeError,
  isErrno,
  NotARegularFileError,
  readFileCapped,
  statIfThere,
} from '@caisson/ground';

/** Of several million files. */
const MAX_INDEX_BYTES = 512 * 1024 * 1024;
const MAX_ATTRIBUTES_BYTES = 16 * 1024 * 1024;

export interface IndexFile {
  readonly bytes: Buffer;
  readonly mtimeMs: number;
}

/** Null if there is none that may be used. */
export async function readIndexFile(path: string): Promise<IndexFile | null> {
  const stats = statIfThere(path, 'itself'); // an earlier time only makes git look at more files
  try {
    const bytes = await readFileCapped(path, MAX_INDEX_BYTES, { noFollow: true });
    return stats === null ? null : { bytes, mtimeMs: stats.mtimeMs };
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isUnusable(error)) return null;
    throw error;
  }
}

/** The text of a file with attributes: empty if there is none, null if it cannot be known what is in it. */
export async function readAttributes(path: string): Promise<string | null> {
  try {
    return (await readFileCapped(path, MAX_ATTRIBUTES_BYTES)).toString('utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) return '';
    if (isUnusable(error)) return null;
    throw error;
  }
}

function isUnusable(error: unknown): boolean {
  const isOdd = error instanceof NotARegularFileError || error instanceof FileTooLargeError;
  return isOdd || isErrno(error, 'ELOOP', 'ENXIO', 'EACCES');
}
