/** Streams of a host to one reader, with its back pressure. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';

export type Outgoing = ServerResponse | Http2ServerResponse;

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

/** Resolves when the reader has taken what was written, or is gone. */
export async function drained(response: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  settled.abort();
}
