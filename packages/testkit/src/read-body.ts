import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { asObject, type Json } from './wire/wire.ts';

const MAX_BODY_BYTES = 64 << 20;

export interface RequestBody {
  readonly text: string;
  /** `null` when the text is not a JSON object. */
  readonly json: Json | null;
}

/** Reads a request to its end, undoing the compression that some clients use. */
export async function readBody(request: IncomingMessage): Promise<RequestBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const part = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) throw new RangeError(`request body over ${MAX_BODY_BYTES} bytes`);
    chunks.push(part);
  }
  const text = decompress(Buffer.concat(chunks), request.headers['content-encoding']).toString('utf8');
  return { text, json: parseObject(text) };
}

function decompress(body: Buffer, encoding: string | undefined): Buffer {
  switch (encoding) {
    case 'gzip':
      return gunzipSync(body);
    case 'deflate':
      return inflateSync(body);
    case 'br':
      return brotliDecompressSync(body);
    case 'zstd':
      return zstdDecompressSync(body);
    default:
      return body;
  }
}

function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? asObject(value) : null;
  } catch {
    return null; // not JSON: the caller answers with the vendor's own error
  }
}
