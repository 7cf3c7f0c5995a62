/** Bytes that may be read in part, and need not be read again while they are the same. */
import { createHash } from 'node:crypto';
import type { HonoRequest } from 'hono';

export function answerBytes(request: HonoRequest, bytes: Buffer): Response {
  const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
  const headers = { etag, 'accept-ranges': 'bytes', 'content-type': 'application/octet-stream' };
  if (request.header('if-none-match') === etag) return new Response(null, { status: 304, headers });
  const range =
    request.header('if-range') === undefined || request.header('if-range') === etag
      ? readRange(request.header('range'), bytes.length)
      : null;
  if (range === null) return new Response(new Uint8Array(bytes), { headers });
  if (range === 'outside')
    return new Response(null, {
      status: 416,
      headers: { ...headers, 'content-range': `bytes */${bytes.length}` },
    });
  const [from, to] = range;
  return new Response(new Uint8Array(bytes.subarray(from, to + 1)), {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${from}-${to}/${bytes.length}` },
  });
}

/** One range of bytes; several at once are answered with everything, as if none had been asked for. */
function readRange(header: string | undefined, length: number): [number, number] | 'outside' | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  const from = first === '' ? Math.max(0, length - Number(last)) : Number(first);
  const to = first === '' || last === '' ? length - 1 : Math.min(Number(last), length - 1);
  return from > to || from >= length ? 'outside' : [from, to];
}
