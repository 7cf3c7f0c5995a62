import type { EventEnvelope } from '@caisson/protocol';
import { expect, test, vi } from 'vitest';
import { FeedPosition, resolveWaitMs } from './feed-position.ts';
import { addEvents, MAX_KEPT, NO_EVENTS } from './run-events.ts';
import { readRecords, SseReader } from './sse-reader.ts';
import { Throttled } from './throttled.ts';

const event = (seq: number): EventEnvelope => ({
  ...{ type: 'warning', version: 1, runId: 'run_1', attempt: 1, seq, offset: seq, at: '', trace: '' },
  ...{ source: 'test', message: '' },
});

test('an event is accepted once and in order; what is only published always is', () => {
  const position = new FeedPosition();
  expect([5, 5, 4, 6].map((offset) => position.accept({ seq: 1, offset }))).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect(position.accept({ seq: 0, offset: 0 })).toBe(true);
  expect(position.offset).toBe(6);
});

test('waits grow to a limit, and are never 0', () => {
  expect(resolveWaitMs(1, 0)).toBe(250);
  expect(resolveWaitMs(3, 1)).toBe(2000);
  expect(resolveWaitMs(50, 1)).toBe(15_000);
});

test('events are added once; a hole is reported and filled', () => {
  const first = addEvents(NO_EVENTS, [event(1), event(2), event(2)]);
  expect(first).toMatchObject({ lastSeq: 2, hasHole: false });
  const holed = addEvents(first, [event(4)]);
  expect(holed).toMatchObject({ lastSeq: 2, hasHole: true });
  expect(addEvents(holed, [event(3), event(4)])).toMatchObject({ lastSeq: 4, hasHole: false });
  expect(addEvents(first, [event(1)])).toBe(first);
});

test('only the newest events are kept', () => {
  const many = Array.from({ length: MAX_KEPT + 10 }, (_, index) => event(index + 1));
  const state = addEvents(NO_EVENTS, many);
  expect([state.events.length, state.dropped, state.lastSeq]).toEqual([MAX_KEPT, 10, MAX_KEPT + 10]);
});

test('records come out whole, wherever the pieces end', () => {
  const text = ': hello\n\nid: 1\ndata: {"a":1}\n\nevent: end\r\ndata: x\r\ndata: y\r\n\r\n';
  const reader = new SseReader();
  const records = [...text].flatMap((char) => reader.push(char));
  expect(records).toEqual([
    { event: 'message', data: '{"a":1}' },
    { event: 'end', data: 'x\ny' },
  ]);
});

test('a record without an end is dropped, and the next one is read', () => {
  const reader = new SseReader();
  for (let index = 0; index < 10; index += 1) reader.push(`data: ${'x'.repeat(1024 * 1024)}`);
  reader.push('\n\n');
  expect(reader.push('data: next\n\n')).toEqual([{ event: 'message', data: 'next' }]);
});

test('a heartbeat is seen as life, and as no record', async () => {
  const pieces = [': beat\n\n', 'data: ä', '\n\n'].map((text) => new TextEncoder().encode(text));
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const found = [];
  for await (const record of readRecords(stream)) found.push(record);
  expect(found).toEqual([null, null, { event: 'message', data: 'ä' }]);
});

test('throttled work begins at once, never twice at the same time, and is done again after what came meanwhile', async () => {
  const ends: (() => void)[] = [];
  const throttled = new Throttled(() => new Promise((resolve) => ends.push(resolve)), 0);
  throttled.ask();
  expect(ends).toHaveLength(1);
  throttled.ask();
  throttled.ask();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await vi.waitFor(() => expect(ends).toHaveLength(2));
  throttled.stop();
  throttled.ask();
  ends[1]?.();
  await Promise.resolve();
  expect(ends).toHaveLength(2);
});
