/**
 * The processes that follow this host (H4). Each gets what happens at its own pace: while one does not read, nothing is
 * written to it, and the source counts what it misses. One that goes away leaves nothing.
 */
import type { Socket } from 'node:net';
import { encodeNdjson } from '@caisson/protocol';
import type { FollowHost, HostReply } from './contract.ts';
import type { FollowOrder } from './orders.ts';

/** The most followers of one host. */
const MAX_FOLLOWERS = 256;

export interface Followers {
  /** Resolves when the follower is gone, or there is nothing more to follow. */
  serve(socket: Socket, order: FollowOrder): Promise<void>;
  /** Disconnects all. What was written to them still arrives. */
  stop(): void;
}

export function createFollowers(follow: FollowHost): Followers {
  const sockets = new Set<Socket>();
  const encode = createEncoder();
  return {
    async serve(socket, order) {
      if (sockets.size >= MAX_FOLLOWERS) {
        const message = `${MAX_FOLLOWERS} others follow this host already`;
        return void socket.end(encodeNdjson({ ok: false, message } satisfies HostReply));
      }
      const gone = new AbortController();
      sockets.add(socket);
      socket.once('close', () => {
        sockets.delete(socket);
        gone.abort();
      });
      socket.once('end', () => socket.destroy()); // nobody reads any more, and our last bytes may never be taken
      socket.unref(); // a follower does not keep a host alive
      await writeAll(socket, follow(order, gone.signal)[Symbol.asyncIterator](), encode, gone.signal);
      socket.end();
    },
    stop() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Answers once the follower misses nothing more. */
async function writeAll(
  socket: Socket,
  events: AsyncIterator<object>,
  encode: (event: object) => string,
  gone: AbortSignal,
): Promise<void> {
  let next = events.next();
  socket.write(encodeNdjson({ ok: true } satisfies HostReply));
  for (let each = await next; each.done !== true; each = await next) {
    if (!writeSoon(socket, encode(each.value))) await drained(socket, gone);
    next = events.next();
  }
}

/** What happens in one turn is one write. */
function writeSoon(socket: Socket, line: string): boolean {
  if (socket.writableCorked === 0) {
    socket.cork();
    process.nextTick(() => socket.uncork());
  }
  return socket.write(line);
}

/** An event is encoded once, for all followers. */
function createEncoder(): (event: object) => string {
  const lines = new WeakMap<object, string>();
  return (event) => {
    const known = lines.get(event);
    if (known !== undefined) return known;
    const line = encodeNdjson(event);
    lines.set(event, line);
    return line;
  };
}

function drained(socket: Socket, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      socket.removeListener('drain', done);
      gone.removeEventListener('abort', done);
      resolve();
    };
    socket.once('drain', done);
    gone.addEventListener('abort', done, { once: true });
  });
}
