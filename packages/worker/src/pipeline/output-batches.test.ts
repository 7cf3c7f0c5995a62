import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createOutputBatches } from './output-batches.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function collect(): { taken: string[]; batches: ReturnType<typeof createOutputBatches> } {
  const taken: string[] = [];
  const batches = createOutputBatches((name, bytes) => taken.push(`${name} ${bytes.toString()}`));
  return { taken, batches };
}

test('what comes after a pause is passed on at once, what follows together', () => {
  const { taken, batches } = collect();
  batches.push('stdout', Buffer.from('a'));
  expect(taken).toEqual(['stdout a']);
  batches.push('stdout', Buffer.from('b'));
  batches.push('stdout', Buffer.from('c'));
  expect(taken).toEqual(['stdout a']);
  vi.advanceTimersByTime(4);
  expect(taken).toEqual(['stdout a', 'stdout bc']);
});

test('the streams keep their order, and nothing is left behind', () => {
  const { taken, batches } = collect();
  for (const text of ['1', '2', '3']) {
    batches.push('stdout', Buffer.from(`out${text}`));
    batches.push('stderr', Buffer.from(`err${text}`));
  }
  batches.flush();
  expect(taken.join(' ')).toBe('stdout out1 stderr err1 stdout out2 stderr err2 stdout out3 stderr err3');
});

test('a flood waits for no timer', () => {
  const { taken, batches } = collect();
  for (let index = 0; index < 64; index += 1) batches.push('stdout', Buffer.alloc(4096, 'x'));
  expect(taken.length).toBeGreaterThan(2);
  expect(Math.max(...taken.map((text) => text.length))).toBeLessThan(80_000);
});
