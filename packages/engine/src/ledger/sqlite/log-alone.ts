import { existsSync } from 'node:fs';

/**
 * Whether a ledger's write-ahead log is there and its file is gone. The log first: another creator's log appears after
 * its file, and the file never goes, so a file that is missing after its log was seen is really gone.
 */
export function isLogAlone(file: string, exists: (path: string) => boolean = existsSync): boolean {
  return exists(`${file}-wal`) && !exists(file);
}
