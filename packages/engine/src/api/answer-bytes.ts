/** Bytes that may be read in part, and need not be read again while they are the same. Nothing is held in memory whole. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { NamedBytes } from './contract.ts';
import type { Call } from './read-input.ts';

export async function answerBytes({ req, env }: Call, bytes: NamedBytes): Promise<Response> {
  const etag = bytes.tag === null ? null : `"${bytes.tag}"`;
  const headers = {
    ...(etag === null ? {} : { etag }),
    'accept-ranges': 'bytes',
    'content-type': 'application/octet-stream',
  };
  const isKnown = etag !== null && matchesTag(req.header('if-none-match'), etag);
  if (isKnown || req.method === 'HEAD') {
    await bytes.close();
    return new Response(null, { status: isKnown ? 304 : 200, headers });
  }
  const { size, parts } = await bytes.open();
  const ifRange = req.header('if-range');
  const range = ifRange === undefined || ifRange === etag ? readRange(req.header('range'), size) : null;
  if (range === 'outside') {
    await closeParts(parts);
    return new Response(null, { status: 416, headers: { ...headers, 'content-range': `bytes */${size}` } });
  }
  const [from, to] = range ?? [0, size - 1];
  const part = range === null ? {} : { 'content-range': `bytes ${from}-${to}/${size}` };
  const { outgoing } = env;
  outgoing.writeHead(range === null ? 200 : 206, { ...headers, ...part, 'content-length': to - from + 1 });
  // What goes wrong now cuts the connection: the status is out.
  await pipeline(Readable.from(cut(parts, from, to)), outgoing).catch(() => outgoing.destroy());
  return RESPONSE_ALREADY_SENT;
}

/** One range of bytes; several at once are answered with everything, as if none had been asked for. */
function readRange(header: string | undefined, length: number): [number, number] | 'outside' | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  const from = first === '' ? Math.max(0, length - Number(last)) : Number(first);
  const to = first === '' || last === '' ? length - 1 : Math.min(Number(last), length - 1);
  return from > to || from >= length ? 'outside' : [from, to];
}

export function matchesTag(header: string | undefined, etag: string): boolean {
  const known = (header ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''));
  return known.includes(etag) || known.includes('*');
}

/** The last piece waits for the end of its source, which says whether the whole is what it should be. */
async function* cut(parts: Parts, from: number, to: number): AsyncGenerator<Buffer> {
  let at = 0;
  let held: Buffer | null = null;
  for await (const part of parts) {
    const piece = part.subarray(Math.max(0, from - at), Math.max(0, to + 1 - at));
    at += part.length;
    if (piece.length === 0) continue;
    if (held !== null) yield held;
    held = piece;
  }
  if (held !== null) yield held;
}

type Parts = AsyncIterable<Buffer> | Iterable<Buffer>;

async function closeParts(parts: Parts): Promise<void> {
  if (parts instanceof Readable) parts.destroy();
  else for await (const _part of parts) return;
}
