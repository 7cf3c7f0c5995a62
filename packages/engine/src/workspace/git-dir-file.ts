/** Files of a repository's git dir whose text an agent or an error message gets. A stranger may have put links there. */
import { join } from 'node:path';

import { beneath, ifErrno, isErrno, LinkInPathError, readFileCapped } from '@caisson/ground';

import { WorkspaceError } from './errors.ts';

const MAX_BYTES = 256 * 1024 * 1024;

/** The text of a regular file that is in `commonDir` itself; null when there is none. Throws {@link WorkspaceError} for a link. */
export async function readGitFile(commonDir: string, name: string): Promise<string | null> {
  try {
    const read = async (at: Buffer): Promise<Buffer | null> =>
      await readFileCapped(at.toString('latin1'), MAX_BYTES, { noFollow: true }).catch(
        ifErrno(null, 'ENOENT', 'ENOTDIR'),
      );
    const bytes = await beneath(commonDir, Buffer.from(name), read);
    return bytes?.toString('utf8') ?? null;
  } catch (error) {
    if (!(error instanceof LinkInPathError) && !isErrno(error, 'ELOOP')) throw error;
    throw new WorkspaceError(`${join(commonDir, name)} is a link, and may show a run other files of yours.`, {
      cause: error,
      remedy: 'Put the file itself there, or clone the repository and work in the clone.',
    });
  }
}
