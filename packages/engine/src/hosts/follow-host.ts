/** The other end: follows a host until it closes, or until the reader has enough. */
import { connect, type Socket } from 'node:net';
import { throughFolder } from '@caisson/ground';
import { createNdjsonDecoder, encodeNdjson } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { HostReply } from './contract.ts';
import type { FollowOrder } from './orders.ts';
import { HOST_ID } from './host-id.ts';

const Reply = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true) }),
  z.object({ ok: z.literal(false), message: z.string() }),
]);

interface Following {
  receive(event: unknown): void;
  readonly signal: AbortSignal;
}

/**
 * No limit of time: a host that stands still is waited for. Never rejects; the reply says whether the host was followed,
 * and comes when that is over.
 */
export async function followHost(
  folder: string,
  hostId: string,
  order: FollowOrder,
  following: Following,
): Promise<HostReply> {
  const unreachable: HostReply = { ok: false, message: `host ${hostId} does not answer` };
  if (!HOST_ID.test(hostId)) return unreachable;
  const reach = (prefix: string): Promise<Socket | null> => connectTo(`${prefix}/${hostId}.sock`);
  const socket = await throughFolder(folder, reach).catch(() => null);
  if (socket === null) return unreachable;
  socket.write(encodeNdjson(order));
  return (await receiveAll(socket, following)) ?? unreachable;
}

function connectTo(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.unref(); // the reader keeps the process alive, not its source
    socket.once('connect', () => resolve(socket));
    socket.on('error', () => {
      socket.destroy();
      resolve(null);
    });
  });
}

/** Resolves with the host's answer, if there was one, when the connection is over. */
function receiveAll(socket: Socket, { receive, signal }: Following): Promise<HostReply | undefined> {
  const decoder = createNdjsonDecoder();
  let reply: HostReply | undefined;
  const take = (value: unknown): void => {
    if (reply === undefined) reply = Reply.safeParse(value).data ?? { ok: false, message: 'no answer' };
    else if (reply.ok) receive(value);
  };
  return new Promise((resolve) => {
    const stop = (): void => void socket.destroy();
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    socket.once('close', () => {
      signal.removeEventListener('abort', stop);
      resolve(reply);
    });
    socket.on('data', (chunk: Buffer) => {
      for (const record of decoder.push(chunk))
        if (record.kind === 'value' && !signal.aborted) take(record.value);
    });
  });
}
