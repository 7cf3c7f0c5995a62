import { CaissonError } from '@caisson/protocol';
import {
  LedgerBusyError,
  LedgerCorruptError,
  LedgerForeignError,
  LedgerFullError,
  LedgerIoError,
  LedgerTruncatedError,
  LedgerUnwritableError,
} from '../errors.ts';
import { findMissingEnd } from './missing-end.ts';

const FULL = new Set(['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', 'ENOSPC', 'EDQUOT']);
const UNWRITABLE = new Set([
  'SQLITE_PERM',
  'SQLITE_AUTH',
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'EEXIST',
  'EISDIR',
  'ENOENT',
]);

/** Gives a failure of SQLite or the file system its name, its file and its remedy. */
export function translateError(error: unknown, file: string): unknown {
  if (error instanceof CaissonError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (FULL.has(code)) return new LedgerFullError(file, error);
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
    return new LedgerBusyError(file, error);
  if (
    code.startsWith('SQLITE_CORRUPT') ||
    code === 'SQLITE_IOERR_SHORT_READ' ||
    code === 'SQLITE_IOERR_CORRUPTFS'
  ) {
    const missing = findMissingEnd(file);
    return missing === null
      ? new LedgerCorruptError(file, `SQLite says "${error.message}"`, { cause: error })
      : new LedgerTruncatedError(file, missing, { cause: error });
  }
  // Every key is assigned under the write lock, so a clash means that a counter and its rows differ.
  if (code.startsWith('SQLITE_CONSTRAINT')) {
    return new LedgerCorruptError(file, `its counters do not match its rows (${error.message})`, {
      cause: error,
    });
  }
  if (code === 'SQLITE_NOTADB') return new LedgerForeignError(file, 'it is not an SQLite database', error);
  if (UNWRITABLE.has(code) || code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN')) {
    return new LedgerUnwritableError(file, error.message, error);
  }
  return code === '' ? error : new LedgerIoError(file, `${error.message} (${code})`, error);
}

/** Runs `work` and throws only translated errors. */
export function translating<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translateError(error, file);
  }
}
