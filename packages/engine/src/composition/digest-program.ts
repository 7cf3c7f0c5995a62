/** The sha256 of a program, remembered for as long as the file does not change: agent binaries are hundreds of MB. */
import { realpath, stat } from 'node:fs/promises';
import { hashFile } from '@caisson/ground';
import { findProgram } from '../discovery/index.ts';
import type { KeyValues } from '../ledger/index.ts';

const SPACE = 'program-digest';

/** Resolves with the sha256 of a program; null when there is no such file. */
export type ProgramDigests = (program: string, searchPath: string) => Promise<string | null>;

/** Runs that ask for the same program at once wait for the same answer. */
export function createProgramDigests(kv: KeyValues): ProgramDigests {
  const underWay = new Map<string, Promise<string>>();
  const digest = async (path: string, key: string): Promise<string> => {
    const found = await hashFile(path);
    // Not of a file that was replaced meanwhile.
    if ((await describeFile(path)) === key) kv.set(SPACE, key, found);
    return found;
  };
  return async (program, searchPath) => {
    const found = program === '' ? null : findProgram(program, searchPath, '/');
    if (found === null) return null;
    const path = await realpath(found);
    const key = await describeFile(path);
    const known = kv.get(SPACE, key);
    if (typeof known === 'string') return known;
    const asked = underWay.get(key) ?? digest(path, key).finally(() => underWay.delete(key));
    underWay.set(key, asked);
    return asked;
  };
}

/** Changes whenever the file may have. */
async function describeFile(path: string): Promise<string> {
  const { size, mtimeMs, ctimeMs, ino } = await stat(path);
  return `${path}:${size}:${mtimeMs}:${ctimeMs}:${ino}`;
}
