import { describe, expect, it } from 'vitest';
import { readAnswer } from './read-answer.ts';

async function* inParts(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string | Buffer, size: number): Promise<{ status: number; body: string }> {
  const { status, body } = await readAnswer(
    inParts(typeof text === 'string' ? Buffer.from(text) : text, size),
  );
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return { status, body: Buffer.concat(parts).toString('utf8') };
}

const LENGTH = 'HTTP/1.1 200 OK\r\nContent-Type: x\r\nContent-Length: 9\r\n\r\ngrün\r\n\r\n';
const CHUNKED =
  'HTTP/1.1 409 Conflict\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\r\nc\r\nA\r\n0123456789\r\n0\r\n\r\n';

describe('an answer', () => {
  it.each([1, 2, 3, 7, 1000])('is read whole from parts of %i bytes', async (size) => {
    expect(await read(LENGTH, size)).toEqual({ status: 200, body: 'grün\r\n\r\n' });
    expect(await read(CHUNKED, size)).toEqual({ status: 409, body: 'ab\r\nc0123456789' });
    expect(await read('HTTP/1.1 204 No Content\r\n\r\n', size)).toEqual({ status: 204, body: '' });
  });

  it.each([LENGTH, CHUNKED])('that ends too early is an error, wherever it ends', async (whole) => {
    for (let end = 0; end < Buffer.byteLength(whole); end += 1)
      await expect(read(Buffer.from(whole).subarray(0, end), 10)).rejects.toThrow('closed in the middle');
  });

  it('that is not one, or has no end of line or of headers, is an error', async () => {
    await expect(read('SSH-2.0\r\n', 10)).rejects.toThrow('not an answer');
    await expect(read('x'.repeat(1_000_000), 50_000)).rejects.toThrow('too long');
    const headers = Array.from({ length: 200 }, (_, index) => `h${index}: 1\r\n`).join('');
    await expect(read(`HTTP/1.1 200 OK\r\n${headers}`, 10)).rejects.toThrow('too many');
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n';
    await expect(read(chunked, 10)).rejects.toThrow('no size');
  });
});
