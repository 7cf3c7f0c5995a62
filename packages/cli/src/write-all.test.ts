import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { writeAll } from './write-all.ts';

/** Both ends of a pipe that holds 64 kB and never waits, as node makes its own stdout. */
function openPipe(): { reader: number; writer: number } {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-pipe-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

/** What is in the pipe now. */
function readSome(fd: number): Buffer {
  const buffer = Buffer.alloc(10_000);
  try {
    return buffer.subarray(0, readSync(fd, buffer));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return Buffer.alloc(0);
    throw error;
  }
}

test('parts of every size arrive whole and in order, however often the pipe is full', async () => {
  const { reader, writer } = openPipe();
  const sizes = [1, 0, 65_535, 3, 200_000, 0, 65_536, 7, 120_000];
  const parts = sizes.map((size, index) => Buffer.alloc(size, `${index}`));
  let isWritten = false;
  const written = writeAll(writer, parts).finally(() => (isWritten = true));
  const read: Buffer[] = [];
  for (let piece = readSome(reader); !isWritten || piece.length > 0; piece = readSome(reader)) {
    read.push(piece);
    await turn();
  }
  expect(await written).toBe(true);
  expect(Buffer.concat(read).equals(Buffer.concat(parts))).toBe(true);
  for (const fd of [reader, writer]) closeSync(fd);
});

test('a reader that goes while the pipe is full ends the writing without an error', async () => {
  const { reader, writer } = openPipe();
  const written = writeAll(writer, [Buffer.alloc(200_000)]);
  await expect.poll(() => readSome(reader).length).toBeGreaterThan(0);
  closeSync(reader);
  expect(await written).toBe(false);
  closeSync(writer);
});

test('nothing is written of nothing', async () => {
  const { reader, writer } = openPipe();
  expect(await writeAll(writer, [Buffer.alloc(0)])).toBe(true);
  expect(readSome(reader).length).toBe(0);
  for (const fd of [reader, writer]) closeSync(fd);
});
