/**
 * Remembers the versions of programs that only the program itself can name, so that a run does not start one for it.
 *
 * V1  Only programs of their own are remembered. A script, or a link to a version manager, may start another one
 *     tomorrow, and is asked each time.
 */
import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { resolveProgramMemory } from '../discovery/index.ts';

const FILE = 'program-versions.json';
const ELF = Buffer.from('\x7fELF', 'latin1');
const VERSION_MANAGER = /shim|volta|mise|asdf|proto|rtx/i;

/** The version of the program, from memory or else from `ask`. `userState`: the user's own state folder. */
export async function recallVersion(
  { path, args, userState }: { path: string; args: readonly string[]; userState: string },
  ask: () => Promise<string | null>,
): Promise<string | null> {
  const program = findMark(path);
  if (program === null) return await ask();
  const memory = resolveProgramMemory(userState, FILE);
  const key = [program.file, ...args].join(' ');
  const known = memory.recall(key, program.mark);
  if (known !== null) return known;
  const version = await ask();
  // It may have been replaced meanwhile: then nobody knows which of the two has answered.
  if (version !== null && findMark(path)?.mark === program.mark) memory.remember(key, program.mark, version);
  return version;
}

/** What changes with the file; null where V1 forbids it. */
function findMark(path: string): { file: string; mark: string } | null {
  try {
    const file = realpathSync(path);
    if (VERSION_MANAGER.test(basename(file)) || !isOwnProgram(file)) return null;
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return { file, mark: [dev, ino, size, mtimeNs, ctimeNs].join(' ') };
  } catch {
    return null; // gone, or unreadable: asking says why
  }
}

/** V1 */
function isOwnProgram(file: string): boolean {
  const descriptor = openSync(file, 'r');
  try {
    const start = Buffer.alloc(ELF.length);
    readSync(descriptor, start, 0, start.length, 0);
    return start.equals(ELF);
  } finally {
    closeSync(descriptor);
  }
}
