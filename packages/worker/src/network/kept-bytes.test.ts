/** The sandbox decides how many requests are under way, and how their bodies are cut; the worker's memory is bounded. */
import { systemClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { createKeepLimit, createKeptBytes } from './kept-bytes.ts';
import { createUsageCounter } from './usage-counter.ts';

const MB = 1024 * 1024;

test('beyond 32 MB under way requests are only counted, and memory of those that ended is free again', () => {
  const counter = createUsageCounter(systemClock);
  const large = Buffer.from(`{"model":"large","padding":"${'x'.repeat(8 * MB - 40)}"}`);
  const begin = () => {
    const request = counter.ask('/v1/messages');
    request.send(large);
    return request;
  };
  const open = [begin(), begin(), begin(), begin(), begin()];
  for (const request of open) request.sentAll();
  const after = begin();
  after.sentAll();
  expect(counter.read().pending.map(({ model }) => model)).toEqual([
    ...['large', 'large', 'large', 'large'],
    ...['', 'large'],
  ]);
});

test('a body that exceeds a limit is released, and what comes after it is only counted', () => {
  const limit = createKeepLimit(10_000);
  const [first, second] = [createKeptBytes(8192, limit), createKeptBytes(8192, limit)];
  first.add(Buffer.alloc(8000, 'a'));
  second.add(Buffer.alloc(8000, 'b'));
  expect([first.text()?.length, second.text(), second.bytes]).toEqual([8000, null, 8000]);
  first.add(Buffer.alloc(8000, 'a'));
  expect([first.text(), first.bytes]).toEqual([null, 16_000]);
  second.clear();
  second.add(Buffer.from('again'));
  expect(second.text()).toBe('again');
});

test('pieces of all answers together are bounded, too', () => {
  const counter = createUsageCounter(systemClock);
  const piece = Buffer.alloc(7 * MB, 'x');
  const before = process.memoryUsage().arrayBuffers;
  for (let count = 0; count < 20; count += 1) {
    const reading = counter.ask('/v1/messages').answered(200, 'application/json', true);
    reading?.resume().write(piece);
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40 * MB);
});
