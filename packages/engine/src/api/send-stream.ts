/** Streams of a host to one reader, with its back pressure. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import { toWire, type EventEnvelope } from '@caisson/protocol';
import { toProblem } from './problems.ts';

type Outgoing = ServerResponse | Http2ServerResponse;

/** Aborted when the reader is gone, or has everything. */
export function untilClosed(outgoing: Outgoing): AbortSignal {
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  return gone.signal;
}

/**
 * Writes as fast as the reader reads; a reader that goes away ends it. What is wrong before the first part is thrown; an
 * error after it cuts the connection, because the status is out.
 */
export async function sendStream(
  outgoing: Outgoing,
  type: string,
  parts: AsyncIterable<string | Buffer>,
): Promise<void> {
  const response = outgoing as ServerResponse;
  const iterator = parts[Symbol.asyncIterator]();
  let next = await iterator.next();
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' });
  try {
    for (; next.done !== true && !response.destroyed; next = await iterator.next())
      if (!response.write(next.value)) await drained(response);
    response.end();
  } catch {
    response.destroy();
  } finally {
    await iterator.return?.();
  }
}

async function drained(response: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  settled.abort();
}

/** A reader to whom nothing comes for longer may believe that we are gone. */
const ALIVE_MS = 15_000;

/** The same for events: a reader learns at once that it is connected, and again and again that it still is. */
export async function sendEvents(outgoing: Outgoing, parts: AsyncIterable<string>): Promise<void> {
  const response = outgoing as ServerResponse;
  const iterator = parts[Symbol.asyncIterator]();
  const first = iterator.next(); // what happens from here on is not missed
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(':\n\n');
  const alive = setInterval(() => response.writableNeedDrain || response.write(':\n\n'), ALIVE_MS);
  try {
    for (let next = await first; next.done !== true && !response.destroyed; next = await iterator.next())
      if (!response.write(next.value)) await drained(response);
    response.end();
  } catch {
    response.destroy();
  } finally {
    clearInterval(alive);
    await iterator.return?.();
  }
}

/** In a run events are counted by `seq`, in the project by `offset`. What is not recorded has neither. */
export const seqOf = ({ seq }: EventEnvelope): number => seq;
export const offsetOf = ({ offset }: EventEnvelope): number => offset ?? 0;

/** Server-sent events. The last one says that nothing is missing, or what went wrong. */
export async function* encodeEvents(
  events: AsyncIterable<EventEnvelope>,
  idOf: (event: EventEnvelope) => number = seqOf,
): AsyncGenerator<string> {
  try {
    for await (const event of events) {
      const id = idOf(event) > 0 ? `id: ${idOf(event)}\n` : '';
      yield `${id}data: ${JSON.stringify(toWire(event))}\n\n`;
    }
    yield 'event: end\ndata: {}\n\n';
  } catch (error) {
    yield `event: problem\ndata: ${JSON.stringify(toProblem(error))}\n\n`;
  }
}
