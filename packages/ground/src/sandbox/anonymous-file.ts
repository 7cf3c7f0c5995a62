// Content for a child through a descriptor: a file that never had a name, in memory if possible, so that a secret in it
// is on no disk and in no listing.
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Linux' O_TMPFILE, which Node does not export. */
export const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;

/** A descriptor from which `content` can be read once. The caller closes it. */
export function openAnonymousFile(content: string | Buffer): number {
  const fd = openNameless();
  try {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    // Written at a position, so the descriptor itself is still at the beginning.
    for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done, bytes.length - done, done);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function openNameless(): number {
  try {
    return openSync('/dev/shm', O_TMPFILE | constants.O_RDWR, 0o600);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (
      code !== 'ENOENT' &&
      code !== 'EACCES' &&
      code !== 'EROFS' &&
      code !== 'EOPNOTSUPP' &&
      code !== 'ENOSPC'
    )
      throw error;
    return openSync(tmpdir(), O_TMPFILE | constants.O_RDWR, 0o600);
  }
}
