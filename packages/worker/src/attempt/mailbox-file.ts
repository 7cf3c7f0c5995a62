/**
 * Writes into the mailbox, which the agent can write to as well. A link that the agent made would lead the worker,
 * which is outside the sandbox, to any file of the user: no link is followed, at any place of the path. A pipe without
 * a reader would block the worker, and with it everything that ends the agent: it is never waited for.
 */
import { closeSync, constants, fstatSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * Puts a new file at the top of the mailbox in place of the file or link of that name. A folder there is refused: while
 * it is emptied, a running agent could replace a part of it with a link.
 */
export function writeInMailbox(mailbox: string, name: string, bytes: Uint8Array | string): void {
  const path = join(mailbox, name);
  rmSync(path, { force: true }); // removes a link, not its target
  writeAll(openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600), bytes);
}

/** Appends to a file in a folder of the mailbox. */
export function appendInMailbox(mailbox: string, folder: string, name: string, bytes: string): void {
  mkdirSync(join(mailbox, folder), { recursive: true, mode: 0o700 });
  const folderFd = openSync(join(mailbox, folder), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const path = `/proc/self/fd/${folderFd}/${name}`;
    writeAll(openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600), bytes);
  } finally {
    closeSync(folderFd);
  }
}

function writeAll(fd: number, bytes: Uint8Array | string): void {
  try {
    if (!fstatSync(fd).isFile()) throw new Error('the agent replaced it with something that is not a file');
    let rest = Buffer.from(bytes);
    while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
  } finally {
    closeSync(fd);
  }
}
