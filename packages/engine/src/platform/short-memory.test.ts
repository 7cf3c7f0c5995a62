import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createShortMemory } from './short-memory.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('one look serves the next half second, for the last key', () => {
  const recall = createShortMemory<number>();
  let looks = 0;
  const look = (key: string): number => recall(key, () => (looks += 1));
  expect([look('a'), look('a')]).toEqual([1, 1]);
  vi.advanceTimersByTime(501);
  expect([look('a'), look('b'), look('a')]).toEqual([2, 3, 4]);
});

test('a failure is not remembered', async () => {
  const recall = createShortMemory<Promise<number>>();
  await expect(recall('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await recall('a', () => Promise.resolve(1))).toBe(1);
});
