/**
 * Remembers the versions of programs that only the program itself can name, so that a run does not start one for it.
 *
 * K1  An answer counts for exactly the file that gave it: path, inode, size and both times. No program can set its ctime.
 * K2  Only programs of their own are remembered. A script, or a link to a version manager, may start another one
 *     tomorrow, and is asked each time.
 * K3  It is in the user's own state folder, which no run sees. A folder that others can write is not used, and none is
 *     made for it.
 */
import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isPrivateFolder, readSmallFileSync, writeFileAtomicSync } from '@caisson/ground';
import * as z from 'zod/mini';

const FILE = 'program-versions.json';
const MAX_BYTES = 256 * 1024;
const MAX_KNOWN = 64;
const ELF = Buffer.from('\x7fELF', 'latin1');
const VERSION_MANAGER = /shim|volta|mise|asdf|proto|rtx/i;

const Known = z.record(z.string(), z.object({ mark: z.string(), version: z.string() }));
type Known = z.infer<typeof Known>;

/** The version of the program, from memory or else from `ask`. `userState`: the user's own state folder. */
export async function recallVersion(
  { path, args, userState }: { path: string; args: readonly string[]; userState: string },
  ask: () => Promise<string | null>,
): Promise<string | null> {
  const program = findMark(path);
  if (program === null || !isPrivateFolder(userState)) return await ask();
  const key = [program.file, ...args].join(' ');
  const known = read(userState)[key];
  if (known?.mark === program.mark) return known.version;
  const version = await ask();
  // It may have been replaced meanwhile: then nobody knows which of the two has answered.
  if (version !== null && findMark(path)?.mark === program.mark)
    remember(userState, key, { mark: program.mark, version });
  return version;
}

/** K1; null where K2 forbids it. */
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

/** K2 */
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

function read(userState: string): Known {
  try {
    const file = readSmallFileSync(join(userState, FILE), MAX_BYTES);
    return Known.safeParse(JSON.parse(file?.text ?? '{}')).data ?? {};
  } catch {
    return {}; // damaged: it is written again
  }
}

/** Two processes may write at once: one of the answers is asked for again. */
function remember(userState: string, key: string, entry: Known[string]): void {
  const { [key]: _old, ...others } = read(userState);
  const kept = Object.entries(others).slice(-(MAX_KNOWN - 1));
  try {
    const known = Object.fromEntries([...kept, [key, entry]]);
    writeFileAtomicSync(join(userState, FILE), JSON.stringify(known), { durable: false });
  } catch {
    // a full disk: the program is asked again
  }
}
