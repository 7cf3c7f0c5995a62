/** The socket of this host: it takes one order a connection, and serves those who follow. */
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { openKeptSocket, removeFileSync } from '@caisson/ground';
import { createNdjsonDecoder, encodeNdjson } from '@caisson/protocol';
import type { FollowHost, HostOrder, HostPost, HostReply, PostOptions } from './contract.ts';
import { giveBack, setAside } from './disk-reserve.ts';
import { createFollowers, type Followers } from './followers.ts';
import { AnyOrder } from './orders.ts';

/** A connection that brings no order within this time, or does not take its answer, is closed. */
const ORDER_WITHIN_MS = 10_000;
/** How long an answer that is under way may take once the host ends. */
const LAST_ANSWERS_MS = 1000;

type Obey = (order: HostOrder) => Promise<HostReply>;

export interface Post extends PostOptions {
  readonly obey: Obey;
  readonly follow: FollowHost;
}

export async function openPost(
  folder: string,
  hostId: string,
  { obey, follow, isInPlace = () => true, warn = () => undefined }: Post,
): Promise<HostPost> {
  const followers = createFollowers(follow);
  const connections = new Set<Socket>();
  const kept = await openKeptSocket({
    folder,
    name: `${hostId}.sock`,
    holdsProcess: false,
    isInPlace,
    accept(connection) {
      connections.add(connection);
      connection.once('close', () => connections.delete(connection));
      serve(connection, obey, followers);
    },
    onMadeAgain() {
      setAside(folder, hostId);
      warn('the socket of this host was removed and is made again');
    },
    onFailed: ({ message }) => warn(`the socket of this host: ${message}`),
  });
  setAside(folder, hostId);
  return {
    hostId,
    check: () => kept.check(),
    async stop() {
      giveBack(folder, hostId); // closing the server removes the socket
      await kept.close();
      followers.stop();
      await untilClosed(connections);
      removeTraces(folder, hostId);
    },
  };
}

/** A connection that never reads again, or never closes, holds up no end. */
async function untilClosed(connections: ReadonlySet<Socket>): Promise<void> {
  const closed = [...connections].map(
    (connection) => new Promise((resolve) => connection.once('close', resolve)),
  );
  const late = setTimeout(() => {
    for (const connection of connections) connection.destroy();
  }, LAST_ANSWERS_MS);
  await Promise.all(closed);
  clearTimeout(late);
}

/** The socket last: a dead host is found by it, and what is left without one stays for ever. */
export function removeTraces(folder: string, hostId: string): void {
  giveBack(folder, hostId);
  removeFileSync(join(folder, `${hostId}.sock`));
}

function serve(socket: Socket, obey: Obey, followers: Followers): void {
  const decoder = createNdjsonDecoder();
  const end = (reply: HostReply): void => {
    socket.setTimeout(ORDER_WITHIN_MS);
    socket.end(encodeNdjson(reply));
  };
  const answer = async (value: unknown): Promise<void> => {
    const order = AnyOrder.safeParse(value).data;
    if (order?.kind === 'follow') return followers.serve(socket, order);
    end(order === undefined ? { ok: false, message: 'this is not an order' } : await obey(order));
  };
  let isTaken = false;
  socket.setTimeout(ORDER_WITHIN_MS, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    for (const record of decoder.push(chunk)) {
      if (isTaken) return; // a connection is for one order
      isTaken = true;
      socket.setTimeout(0); // an order may take long, and a follower stays
      answer(record.kind === 'value' ? record.value : null)
        .catch((error: unknown) => end({ ok: false, message: (error as Error).message }))
        .catch(() => socket.destroy());
    }
  });
}
