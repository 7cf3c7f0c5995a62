/** Reads one answer of HTTP/1.1 from a connection that is closed behind it. */
import type { ConnectionAnswer } from './contract.ts';

const MAX_LINE_BYTES = 64 * 1024;
const MAX_HEADERS = 100;

/** Throws when the connection ends too early, here and while the body is read. */
export async function readAnswer(parts: AsyncIterator<Buffer>): Promise<ConnectionAnswer> {
  const incoming = createIncoming(parts);
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(await incoming.line()) ?? [];
  if (status === undefined) throw new Error('this is not an answer of HTTP/1.1');
  const headers = new Map<string, string>();
  for (let line = await incoming.line(); line !== ''; line = await incoming.line()) {
    const colon = line.indexOf(':');
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    if (headers.size > MAX_HEADERS) throw new Error('the answer has too many headers');
  }
  return { status: Number(status), headers, body: readBody(incoming, headers) };
}

async function* readBody(
  incoming: Incoming,
  headers: ReadonlyMap<string, string>,
): AsyncGenerator<Buffer, void, void> {
  if (headers.get('transfer-encoding') !== 'chunked') {
    yield* readBytes(incoming, Number(headers.get('content-length') ?? 0));
    return;
  }
  for (;;) {
    const size = Number.parseInt(await incoming.line(), 16);
    if (!(size >= 0)) throw new Error('a chunk of the answer has no size');
    yield* readBytes(incoming, size);
    await incoming.line();
    if (size === 0) return;
  }
}

/** As they come: a reader need not wait for a whole chunk. */
async function* readBytes(incoming: Incoming, size: number): AsyncGenerator<Buffer, void, void> {
  for (let left = size; left > 0;) {
    const bytes = await incoming.some(left);
    left -= bytes.length;
    yield bytes;
  }
}

interface Incoming {
  /** Up to the next end of line, without it. */
  line(): Promise<string>;
  /** At least one byte. */
  some(max: number): Promise<Buffer>;
}

function createIncoming(parts: AsyncIterator<Buffer>): Incoming {
  let waiting: Buffer = Buffer.alloc(0);
  const more = async (): Promise<void> => {
    const next = await parts.next();
    if (next.done === true) throw new Error('the connection was closed in the middle of an answer');
    waiting = waiting.length === 0 ? next.value : Buffer.concat([waiting, next.value]);
  };
  const take = (length: number): Buffer => {
    const taken = waiting.subarray(0, length);
    waiting = waiting.subarray(length);
    return taken;
  };
  return {
    async line() {
      let end = waiting.indexOf('\r\n');
      for (; end === -1; end = waiting.indexOf('\r\n')) {
        if (waiting.length > MAX_LINE_BYTES) throw new Error('a line of the answer is too long');
        await more();
      }
      const text = take(end).toString('latin1');
      take(2);
      return text;
    },
    async some(max) {
      if (waiting.length === 0) await more();
      return take(max);
    },
  };
}
