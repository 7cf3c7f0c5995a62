/**
 * Remembers something about programs that takes long to find out, across projects.
 *
 * K1  It counts for exactly the file that it was found of: the mark has its inode, size and both times. No program can
 *     set its ctime.
 * K2  It is in the user's own state folder, which no run sees. A folder that others can write is not used, and none is
 *     made for it.
 */
import { join } from 'node:path';
import { isPrivateFolder, readSmallFileSync, writeFileAtomicSync } from '@caisson/ground';
import * as z from 'zod/mini';

const MAX_BYTES = 512 * 1024;
const MAX_KNOWN = 64;

const Known = z.record(z.string(), z.object({ mark: z.string(), answer: z.string() }));
type Known = z.infer<typeof Known>;

export interface ProgramMemory {
  recall(program: string, mark: string): string | null;
  remember(program: string, mark: string, answer: string): void;
}

/** `userState`: the user's own state folder. */
export function resolveProgramMemory(userState: string, name: string): ProgramMemory {
  const file = join(userState, name);
  return {
    recall(program, mark) {
      const known = isPrivateFolder(userState) ? read(file)[program] : undefined;
      return known?.mark === mark ? known.answer : null;
    },
    /** Two processes may write at once: one of the answers is asked for again. */
    remember(program, mark, answer) {
      if (!isPrivateFolder(userState)) return;
      const { [program]: _old, ...others } = read(file);
      const kept = Object.entries(others).slice(-(MAX_KNOWN - 1));
      try {
        const known = Object.fromEntries([...kept, [program, { mark, answer }]]);
        writeFileAtomicSync(file, JSON.stringify(known), { durable: false });
      } catch {
        // a full disk: it is asked for again
      }
    },
  };
}

function read(file: string): Known {
  try {
    const found = readSmallFileSync(file, MAX_BYTES);
    return Known.safeParse(JSON.parse(found?.text ?? '{}')).data ?? {};
  } catch {
    return {}; // damaged: it is written again
  }
}
