import { existsSync, readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { isListening, throughFolder } from '@caisson/ground';
import { createNdjsonDecoder, encodeNdjson } from '@caisson/protocol';
import type { HostOrder, HostReply, Hosts } from './contract.ts';
import { givePartBack } from './disk-reserve.ts';
import { HostUnreachableError } from './errors.ts';
import { followHost } from './follow-host.ts';
import { HOST_ID } from './host-id.ts';
import { openPost, removeTraces } from './open-post.ts';

const ANSWER_LIMIT_MS = 10_000;

/** `isServing`: whether a host lives by what is known of it elsewhere. Its socket may have been removed under it. */
export function createLocalHosts(
  stateDir: string,
  isServing: (hostId: string) => boolean = () => false,
): Hosts {
  const folder = join(stateDir, 'runtime', 'hosts');

  return {
    open: (hostId, obey, follow, how) => openPost(folder, hostId, { obey, follow, ...how }),
    isAlive: async (hostId) => (await isListening(folder, `${hostId}.sock`)) || isServing(hostId),
    list: (olderThanMs) => listSockets(folder, olderThanMs),
    forget: (hostId) => {
      if (!HOST_ID.test(hostId)) return;
      removeTraces(folder, hostId);
    },
    freeReserve: (hostId) => HOST_ID.test(hostId) && givePartBack(folder, hostId),
    order: (hostId, order, how) => exchange(folder, hostId, order, how?.limitMs),
    follow: (hostId, order, how) => followHost(folder, hostId, order, how),
  };
}

function listSockets(folder: string, olderThanMs: number): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sock'))
    .filter((name) => {
      const made = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      return Date.now() - made >= olderThanMs;
    })
    .map((name) => name.slice(0, -'.sock'.length));
}

function exchange(
  folder: string,
  hostId: string,
  order: HostOrder,
  limitMs = ANSWER_LIMIT_MS,
): Promise<HostReply> {
  const unreachable = (cause: unknown): HostUnreachableError =>
    new HostUnreachableError(`host ${hostId} does not answer`, {
      cause,
      remedy: 'Try again. If it was a daemon that is gone, caisson up -d adopts the run.',
    });
  return throughFolder(
    folder,
    (prefix) =>
      new Promise<HostReply>((resolve, reject) => {
        const socket = connect(`${prefix}/${hostId}.sock`);
        const decoder = createNdjsonDecoder();
        const late = setTimeout(() => socket.destroy(new Error('no answer in time')), limitMs);
        socket.once('connect', () => socket.write(encodeNdjson(order)));
        socket.once('error', (error) => reject(unreachable(error)));
        socket.once('close', () => {
          clearTimeout(late);
          reject(unreachable(new Error('closed without an answer')));
        });
        socket.on('data', (chunk: Buffer) => {
          for (const record of decoder.push(chunk))
            if (record.kind === 'value') resolve(record.value as HostReply);
        });
      }),
  ).catch((error: unknown) => {
    if (error instanceof HostUnreachableError) throw error;
    throw unreachable(error);
  });
}
