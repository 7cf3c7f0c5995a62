import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { removeFileSync, isListening, listenPrivately, throughFolder } from '@caisson/ground';
import { createNdjsonDecoder, encodeNdjson } from '@caisson/protocol';
import type { FollowHost, HostOrder, HostReply, Hosts } from './contract.ts';
import { giveBack, givePartBack, setAside } from './disk-reserve.ts';
import { HostUnreachableError } from './errors.ts';
import { followHost } from './follow-host.ts';
import { createFollowers, type Followers } from './followers.ts';
import { AnyOrder } from './orders.ts';
import { HOST_ID } from './host-id.ts';

const ANSWER_LIMIT_MS = 10_000;

export function createLocalHosts(stateDir: string): Hosts {
  const folder = join(stateDir, 'runtime', 'hosts');

  return {
    open: (hostId, obey, follow) => openPost(folder, hostId, obey, follow),
    isAlive: (hostId) => isListening(folder, `${hostId}.sock`),
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

type Obey = (order: HostOrder) => Promise<HostReply>;

async function openPost(folder: string, hostId: string, obey: Obey, follow: FollowHost) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const followers = createFollowers(follow);
  const server = createServer((socket) => serve(socket, obey, followers));
  await throughFolder(folder, (prefix) => listenPrivately(server, `${prefix}/${hostId}.sock`));
  server.unref();
  setAside(folder, hostId);
  return {
    hostId,
    async stop() {
      giveBack(folder, hostId); // closing the server may remove the socket
      followers.stop(); // the server waits for every connection, also of one that never reads again
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      removeTraces(folder, hostId);
    },
  };
}

/** The socket last: a dead host is found by it, and what is left without one stays for ever. */
function removeTraces(folder: string, hostId: string): void {
  giveBack(folder, hostId);
  removeFileSync(join(folder, `${hostId}.sock`));
}

function serve(socket: Socket, obey: Obey, followers: Followers): void {
  const decoder = createNdjsonDecoder();
  const answer = async (value: unknown): Promise<void> => {
    const order = AnyOrder.safeParse(value).data;
    if (order?.kind === 'follow') return followers.serve(socket, order);
    const reply: HostReply =
      order === undefined ? { ok: false, message: 'this is not an order' } : await obey(order);
    socket.end(encodeNdjson(reply));
  };
  let isTaken = false;
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    for (const record of decoder.push(chunk)) {
      if (isTaken) return; // a connection is for one order
      isTaken = true;
      answer(record.kind === 'value' ? record.value : null)
        .catch((error: unknown) => socket.end(encodeNdjson(refusal(error))))
        .catch(() => socket.destroy());
    }
  });
}

function refusal(error: unknown): HostReply {
  return { ok: false, message: (error as Error).message };
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
