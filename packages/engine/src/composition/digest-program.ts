/** The sha256 of a program, remembered for as long as the file does not change: agent binaries are hundreds of MB. */
import { hashFile } from '@caisson/ground';
import { describeProgram, type ProgramFile, type ProgramMemory } from '../discovery/index.ts';

/**
 * What is smaller is read each time: a script in a folder that a run may write can be changed through a mapping of its file, and
 * the times of a file tell of that only once the kernel has written it back.
 */
const REMEMBERED_BYTES = 4 * 1024 * 1024;
/** So many are in memory; a host that stays may see a script change again and again. */
const MAX_ANSWERS = 64;

export interface ProgramDigests {
  /**
   * Resolves with the sha256 of a program whose file is in this state; null when there is no such file, or its state is
   * another one by now.
   */
  find(program: string, searchPath: string, state: string): Promise<string | null>;
  /** Begins with it, for a program that has just been started: its digest will be asked for. */
  warm(program: ProgramFile): void;
}

/** Runs that ask for the same program at once wait for the same answer. */
export function createProgramDigests(memory: ProgramMemory): ProgramDigests {
  const answers = new Map<string, Promise<string | null>>();
  const digest = async ({ path, bytes, state }: ProgramFile): Promise<string | null> => {
    const isRemembered = bytes >= REMEMBERED_BYTES;
    const known = isRemembered ? memory.recall(path, state) : null;
    if (known !== null) return known;
    const found = await hashFile(path).catch(() => null); // it went meanwhile
    // Not of a file that was replaced meanwhile.
    if (found === null || (await describeProgram(path, ''))?.state !== state) return null;
    if (isRemembered) memory.remember(path, state, found);
    return found;
  };
  const answer = async (file: ProgramFile): Promise<string | null> => {
    const asked = answers.get(file.state) ?? digest(file);
    answers.set(file.state, asked);
    const [oldest = ''] = answers.size > MAX_ANSWERS ? answers.keys() : [];
    answers.delete(oldest);
    try {
      const found = await asked;
      if (found === null || file.bytes < REMEMBERED_BYTES) answers.delete(file.state);
      return found;
    } catch (error) {
      answers.delete(file.state); // the next one may find what is needed
      throw error;
    }
  };
  return {
    async find(program, searchPath, state) {
      const file = await describeProgram(program, searchPath);
      return file?.state === state ? answer(file) : null;
    },
    warm: (program) => void answer(program).catch(() => undefined), // who asks for it gets the failure
  };
}
