import { PassThrough } from 'node:stream';
import { encodeFrameHead, type Job, type OutputName } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { attachStreams } from './attach-streams.ts';

const ATTACHED = { attached: { output: true, input: false, isMerged: false } } as Job;
const PIECE_BYTES = 64 * 1024;

/** A worker's pipe and a reader that takes each write when the test lets it. */
function attach() {
  const output = new PassThrough();
  const writes: { name: OutputName; text: string; take: () => void }[] = [];
  const write = (name: OutputName, parts: readonly Uint8Array[]): Promise<void> =>
    new Promise((take) => void writes.push({ name, text: Buffer.concat(parts).toString(), take }));
  const worker = { input: new PassThrough(), output, exited: new Promise<never>(() => {}) };
  const { delivered } = attachStreams(ATTACHED, { write }, worker);
  const print = (name: OutputName, text: string): boolean =>
    output.write(Buffer.concat([encodeFrameHead(name, text.length), Buffer.from(text)]));
  const takeNext = async (): Promise<string> => {
    await expect.poll(() => writes.length).toBeGreaterThan(0);
    const [first] = writes.splice(0, 1);
    first?.take();
    return `${first?.name} ${first?.text}`;
  };
  return { output, writes, delivered, print, takeNext };
}

test('what is printed while a write is under way is read, and written together', async () => {
  const { output, print, takeNext, delivered } = attach();
  print('stdout', 'a');
  await expect.poll(() => output.readableLength).toBe(0);
  for (const text of ['b', 'c', 'd']) print('stdout', text);
  await expect.poll(() => output.readableLength).toBe(0);
  expect(await takeNext()).toBe('stdout a');
  expect(await takeNext()).toBe('stdout bcd');
  output.end();
  await delivered;
});

test('the streams keep their order', async () => {
  const { output, print, takeNext, delivered } = attach();
  print('stdout', '1');
  print('stderr', '2');
  print('stderr', '3');
  print('stdout', '4');
  const seen = [await takeNext(), await takeNext(), await takeNext()];
  expect(seen).toEqual(['stdout 1', 'stderr 23', 'stdout 4']);
  output.end();
  await delivered;
});

test('a reader that takes nothing stops the reading, and gets everything later', async () => {
  const { output, writes, print, takeNext, delivered } = attach();
  const pieces = 64;
  let printed = 0;
  for (; printed < pieces; printed += 1) print('stdout', 'x'.repeat(PIECE_BYTES));
  await expect.poll(() => output.isPaused()).toBe(true);
  expect(output.readableLength + output.writableLength).toBeGreaterThan(2 * 1024 * 1024);
  expect(writes.length).toBe(1);
  output.end();
  let isDelivered = false;
  void delivered.then(() => (isDelivered = true));
  let bytes = 0;
  while (bytes < pieces * PIECE_BYTES) {
    expect(isDelivered).toBe(false);
    bytes += (await takeNext()).length - 'stdout '.length;
  }
  await delivered;
});

/** How long it takes to pass on so many frames of one byte, whose stream changes each time, once the reader takes them. */
async function passOnAlternating(
  frames: number,
): Promise<{ ms: number; unreadBytes: number; bytes: number }> {
  const { output, writes, delivered } = attach();
  const pair = Buffer.concat(
    (['stdout', 'stderr'] as const).flatMap((name) => [encodeFrameHead(name, 1), Buffer.from('x')]),
  );
  const all = Buffer.concat(Array.from({ length: frames / 2 }, () => pair));
  for (let at = 0; at < all.length; at += PIECE_BYTES) output.write(all.subarray(at, at + PIECE_BYTES));
  output.end();
  await expect.poll(() => output.isPaused() || output.readableEnded).toBe(true);
  const unreadBytes = output.readableLength + output.writableLength;
  let bytes = 0;
  let isDelivered = false;
  void delivered.then(() => (isDelivered = true));
  const startedAt = performance.now();
  while (!isDelivered) {
    const next = writes.shift();
    if (next === undefined) {
      await new Promise(setImmediate);
      continue;
    }
    bytes += next.text.length;
    next.take();
    await Promise.resolve();
  }
  return { ms: performance.now() - startedAt, unreadBytes, bytes };
}

test('many short frames of both streams take time in proportion, and few of them are kept', async () => {
  const few = await passOnAlternating(20_000);
  const many = await passOnAlternating(200_000);
  expect([few.bytes, many.bytes]).toEqual([20_000, 200_000]);
  expect(many.ms / few.ms).toBeLessThan(60); // a hundred times, if each frame cost what all before it did
  expect(many.unreadBytes).toBeGreaterThan(1024 * 1024);
}, 120_000);
