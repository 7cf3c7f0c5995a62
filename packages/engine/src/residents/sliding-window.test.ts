import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SlidingWindow } from './sliding-window.ts';

/** All times, and a count by hand. */
function countByHand(timesMs: readonly number[], nowMs: number, windowMs: number): number {
  let latestMs = -Infinity;
  let found = 0;
  for (const timeMs of timesMs) {
    latestMs = Math.max(latestMs, timeMs);
    if (latestMs > nowMs - windowMs) found += 1;
  }
  return found;
}

test('the window counts as the list of all crashes does, also when the clock jumps', () => {
  const jump = fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: -90_000, max: 3_600_000 }));
  const scenario = fc.record({
    limit: fc.integer({ min: 1, max: 8 }),
    windowMs: fc.integer({ min: 1, max: 120_000 }),
    steps: fc.array(fc.record({ jump, isCrash: fc.boolean() }), { maxLength: 60 }),
  });
  fc.assert(
    fc.property(scenario, ({ limit, windowMs, steps }) => {
      const window = new SlidingWindow({ limit, windowMs });
      const timesMs: number[] = [];
      let nowMs = 0;
      for (const step of steps) {
        nowMs += step.jump;
        if (step.isCrash) {
          timesMs.push(nowMs);
          expect(window.add(nowMs)).toBe(countByHand(timesMs, nowMs, windowMs) >= limit);
        }
        const expected = countByHand(timesMs, nowMs, windowMs);
        expect(window.isFull(nowMs)).toBe(expected >= limit);
        expect(window.count(nowMs)).toBe(Math.min(limit, expected));
      }
    }),
  );
});

test('five crashes in a minute are too many, and five in a little more are not', () => {
  const crashAt = (...timesMs: number[]): boolean => {
    const window = new SlidingWindow({ limit: 5, windowMs: 60_000 });
    for (const timeMs of timesMs) window.add(timeMs);
    return window.isFull(timesMs.at(-1) ?? 0);
  };
  expect(crashAt(0, 1, 2, 3, 59_999)).toBe(true);
  expect(crashAt(0, 1, 2, 3, 60_000)).toBe(false);
});

test('a window that was cleared has counted nothing', () => {
  const window = new SlidingWindow({ limit: 1, windowMs: 60_000 });
  window.add(0);
  window.clear();
  expect([window.count(0), window.isFull(0)]).toEqual([0, false]);
});
