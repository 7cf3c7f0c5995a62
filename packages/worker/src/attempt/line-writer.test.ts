import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { createRedactor } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';
import { SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import { createLineWriter } from './line-writer.ts';

const MANY = 400;
/** So that a megabyte is reached: what waits in memory for a reader is limited. */
const LONG = 'x'.repeat(10_000);

function open(reader: Writable) {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-lines-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const eventsFile = join(folder, 'events.ndjson');
  const redactor = createRedactor([]);
  const writer = createLineWriter({ runId: 'run_a', attempt: 1, eventsFile, redactor, reader });
  writer.header(SAMPLE_GRANT);
  const say = (message: string): void => writer.write({ kind: 'warning', source: 'test', message });
  return { writer, say, file: () => readFileSync(eventsFile, 'utf8') };
}

/** A host that reads nothing before `read` is called. */
function createSlowReader() {
  let text = '';
  let isReading = false;
  let waiting = (): void => undefined;
  const reader = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      waiting = () => {
        text += chunk.toString();
        done();
      };
      if (isReading) waiting();
    },
  });
  const read = (): void => {
    isReading = true;
    waiting();
  };
  return { reader, read, text: () => text };
}

function createReader() {
  const reader = new PassThrough();
  let text = '';
  reader.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { reader, text: () => text };
}

it('a reader that does not read blocks nobody, costs little memory, and gets everything later, once', async () => {
  const { reader, read, text } = createSlowReader();
  const { writer, say, file } = open(reader);
  for (let index = 0; index < MANY; index += 1) say(`${index} ${LONG}`);
  expect(file().split('\n')).toHaveLength(MANY + 2); // a header, and an empty end
  expect(reader.writableLength).toBeLessThan(2 * 1024 * 1024);
  read();
  await writer.close();
  expect(text()).toBe(file());
});

it('the next reader gets all lines from the first on, and then those that come, and the one before no more', async () => {
  const before = createReader();
  const { writer, say, file } = open(before.reader);
  say('one');
  await expect.poll(before.text).toBe(file());
  const had = before.text();
  const next = createReader();
  writer.turnTo(next.reader);
  say('two');
  await writer.close();
  expect([next.text(), before.text(), writer.count]).toEqual([file(), had, 2]);
});

it('a reader that is replaced in the middle of what it missed leaves nothing out for the next', async () => {
  const slow = createSlowReader();
  const { writer, say, file } = open(slow.reader);
  for (let index = 0; index < MANY; index += 1) say(`${index} ${LONG}`);
  const next = createReader();
  writer.turnTo(next.reader);
  say('last');
  await writer.close();
  expect(next.text()).toBe(file());
});

it('a reader that is gone costs no line, and neither does one that was gone when it came', async () => {
  const { reader } = createReader();
  const { writer, say, file } = open(reader);
  say('one');
  reader.destroy();
  say('two');
  const dead = new PassThrough().destroy();
  writer.turnTo(dead);
  say('three');
  const next = createReader();
  writer.turnTo(next.reader);
  say('four');
  await writer.close();
  expect(next.text()).toBe(file());
});
