import { createManualClock } from '@caisson/ground';
import { RunId } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';

import { backoffMs, createRunId } from './index.ts';

describe('ids', () => {
  test('a run id has the shape of the protocol and sorts by time', () => {
    const clock = createManualClock();
    const ids = Array.from({ length: 100 }, () => {
      clock.advance(1);
      return createRunId(clock);
    });
    for (const id of ids) expect(RunId.safeParse(id).success).toBe(true);
    expect(ids.toSorted()).toEqual(ids);
  });

  test('ids of one millisecond differ', () => {
    const clock = createManualClock();
    expect(new Set(Array.from({ length: 1000 }, () => createRunId(clock))).size).toBe(1000);
  });
});

describe('backoff', () => {
  test('doubles from one second to sixty', () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 7, 2000].map((retry) => backoffMs(retry, { random: () => 0 }));
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('chance takes away at most a quarter and adds nothing', () => {
    expect(backoffMs(0, { random: () => 0.999_999 })).toBe(750);
    expect(backoffMs(9, { random: () => 0.5 })).toBe(52_500);
  });

  test('a retry number that makes no sense is refused', () => {
    expect(() => backoffMs(-1)).toThrow(RangeError);
    expect(() => backoffMs(0.5)).toThrow(RangeError);
  });
});
