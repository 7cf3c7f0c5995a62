/** The sha256 of a program, remembered for as long as the file does not change: agent binaries are hundreds of MB. */
import { hashFile } from '@caisson/ground';
import { describeProgram, type ProgramFile } from '../discovery/index.ts';
import type { KeyValues } from '../ledger/index.ts';

const SPACE = 'program-digest';

/**
 * Resolves with the sha256 of a program whose file is in this state; null when there is no such file, or its state is
 * another one by now.
 */
export type ProgramDigests = (program: string, searchPath: string, state: string) => Promise<string | null>;

/** Runs that ask for the same program at once wait for the same answer. */
export function createProgramDigests(kv: KeyValues): ProgramDigests {
  const underWay = new Map<string, Promise<string | null>>();
  const digest = async ({ path, state }: ProgramFile): Promise<string | null> => {
    const found = await hashFile(path).catch(() => null); // it went meanwhile
    // Not of a file that was replaced meanwhile.
    if (found === null || (await describeProgram(path, ''))?.state !== state) return null;
    kv.set(SPACE, state, found);
    return found;
  };
  return async (program, searchPath, state) => {
    const file = await describeProgram(program, searchPath);
    if (file?.state !== state) return null;
    const known = kv.get(SPACE, state);
    if (typeof known === 'string') return known;
    const asked = underWay.get(state) ?? digest(file).finally(() => underWay.delete(state));
    underWay.set(state, asked);
    return asked;
  };
}
