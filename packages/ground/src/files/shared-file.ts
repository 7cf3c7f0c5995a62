/**
 * A small JSON file that several processes read and change. Readers need no lock: the file is replaced in one step.
 * Writers work one after the other, so that no change is lost, and a writer that dies leaves the last complete file and
 * blocks no other.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { CaissonError } from '@caisson/protocol';
import { isErrno } from '../platform/index.ts';
import { readFileCapped, writeFileAtomicSync } from './atomic-file.ts';
import { withFileLock, type LockOptions } from './file-lock.ts';

/** The change would make the shared file larger than its readers accept. */
export class SharedFileFullError extends CaissonError {
  readonly code = 'SHARED_FILE_FULL';
}

/** The change would make a file that its readers refuse. */
export class SharedFileInvalidError extends CaissonError {
  readonly code = 'SHARED_FILE_INVALID';
}

export interface SharedFileKind<T> {
  readonly maxBytes: number;
  /** The value of an absent file. */
  empty(): T;
  /** Guards the edge; throws for any other kind. */
  parse(value: unknown): T;
}

/** Reads the file as it is now; an absent one is empty. */
export async function readSharedFile<T>(path: string, kind: SharedFileKind<T>): Promise<T> {
  try {
    return kind.parse(JSON.parse((await readFileCapped(path, kind.maxBytes)).toString('utf8')));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return kind.empty();
    throw error;
  }
}

/** Reads, changes in place and replaces the file while no other writer can. If `change` throws, nothing changes. */
export async function updateSharedFile<T, R>(
  path: string,
  kind: SharedFileKind<T>,
  change: (value: T) => R,
  options: LockOptions = {},
): Promise<R> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return withFileLock(
    `${path}.lock`,
    async () => {
      const value = await readSharedFile(path, kind);
      const result = change(value);
      const text = JSON.stringify(value);
      if (Buffer.byteLength(text) > kind.maxBytes) {
        throw new SharedFileFullError(`${path} would pass ${kind.maxBytes} bytes; remove something first.`);
      }
      demandReadable(path, kind, text);
      writeFileAtomicSync(path, text);
      return result;
    },
    options,
  );
}

/** The same for a change that only removes: an absent file stays absent. Whether there was something to remove. */
export async function removeFromSharedFile<T>(
  path: string,
  kind: SharedFileKind<T>,
  remove: (value: T) => boolean,
): Promise<boolean> {
  return existsSync(path) && (await updateSharedFile(path, kind, remove));
}

function demandReadable<T>(path: string, kind: SharedFileKind<T>, text: string): void {
  try {
    kind.parse(JSON.parse(text));
  } catch (error) {
    throw new SharedFileInvalidError(`${path} is left as it is: ${describe(error as Error)}`, {
      cause: error,
      remedy: 'Correct what was to be written.',
    });
  }
}

/** The place and the message of the first problem that a schema found. */
function describe(error: Error & { issues?: readonly { path: PropertyKey[]; message: string }[] }): string {
  const [first] = error.issues ?? [];
  return first === undefined ? error.message : `${first.path.join('.')}: ${first.message}`;
}
