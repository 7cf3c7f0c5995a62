/**
 * A folder that one process at a time may work in, even with different state folders.
 *
 * The claim is an abstract socket name of Linux, made of the user and the folder: exactly one process can have it, it
 * is on no disk, and it ends with the process in every case. A process that finds it taken asks at the socket for the
 * holder.
 */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { connect, createServer } from 'node:net';

import { isErrno } from '../platform/index.ts';

const ASK_TIMEOUT_MS = 1000;
const MAX_ANSWER = 256;

export type FolderClaim =
  | { readonly kind: 'claimed'; release(): void }
  /** Null when the other process does not name itself. */
  | { readonly kind: 'taken'; readonly holder: string | null };

/** Claims the folder for as long as this process lives or until it is released. Others get `holder` as the answer. */
export async function claimFolder(folder: string, holder: string): Promise<FolderClaim> {
  const name = nameOf(await realpath(folder));
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy()); // the other process is gone
    socket.end(holder.slice(0, MAX_ANSWER));
  });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: name }, resolve);
    });
  } catch (error) {
    if (!isErrno(error, 'EADDRINUSE')) throw error;
    return { kind: 'taken', holder: await askHolder(name) };
  }
  server.unref();
  return { kind: 'claimed', release: () => void server.close() };
}

function nameOf(folder: string): string {
  const digest = createHash('sha256').update(folder).digest('hex');
  return `\0caisson/in-place/${process.getuid?.() ?? 0}/${digest}`;
}

function askHolder(name: string): Promise<string | null> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ path: name });
    socket.setTimeout(ASK_TIMEOUT_MS, () => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      answer += bytes.toString('utf8').slice(0, MAX_ANSWER - answer.length);
    });
    socket.on('error', () => resolve(null));
    socket.on('close', () => resolve(answer === '' ? null : answer));
  });
}
