import { expect, test } from 'vitest';
import { createHostBackoff } from './host-backoff.ts';

test('a host that cannot be settled is looked at less and less often, and again at once when it was', () => {
  let nowMs = 0;
  const backoff = createHostBackoff({ monotonicMs: () => nowMs });
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(() => {
    backoff.note('host_a', false);
    const fromMs = nowMs;
    while (!backoff.isDue('host_a')) nowMs += 250;
    return nowMs - fromMs;
  });
  expect(waits[0]).toBeLessThanOrEqual(1000);
  expect(waits[3]).toBeGreaterThan(5000);
  expect(waits[8]).toBeGreaterThan(44_000);
  expect(waits[8]).toBeLessThanOrEqual(60_000);
  expect(backoff.isDue('host_b')).toBe(true);
  backoff.note('host_a', false);
  backoff.note('host_a', true);
  expect(backoff.isDue('host_a')).toBe(true);
});
