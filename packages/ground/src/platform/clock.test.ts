import { expect, test } from 'vitest';

import { createManualClock, startTimer, systemClock } from './clock.ts';

test('a manual clock fires timers in order of due time and shows that time meanwhile', () => {
  const clock = createManualClock(1000);
  const seen: [string, number, number][] = [];
  const note = (name: string) => () => void seen.push([name, clock.monotonicMs(), clock.wallMs()]);
  clock.setTimer(20, note('late'));
  clock.setTimer(10, note('early'));
  clock.setTimer(10, note('early too'));
  clock.setTimer(31, note('not yet'));
  clock.advance(30);
  expect(seen).toEqual([
    ['early', 10, 1010],
    ['early too', 10, 1010],
    ['late', 20, 1020],
  ]);
  expect(clock.pendingTimers()).toBe(1);
  expect(clock.now().getTime()).toBe(1030);
});

test('a timer set by a timer fires within the same advance when it is due', () => {
  const clock = createManualClock();
  const seen: number[] = [];
  const tick = (): void => {
    seen.push(clock.monotonicMs());
    clock.setTimer(10, tick);
  };
  clock.setTimer(10, tick);
  clock.advance(35);
  expect(seen).toEqual([10, 20, 30]);
});

test('a cancelled timer does not fire', () => {
  const clock = createManualClock();
  let fired = 0;
  const cancel = clock.setTimer(10, () => fired++);
  cancel();
  cancel();
  clock.advance(100);
  expect(fired).toBe(0);
});

test('a step of the wall clock changes no duration', () => {
  const clock = createManualClock(5000);
  clock.advance(10);
  clock.stepWall(0);
  clock.advance(10);
  expect([clock.wallMs(), clock.monotonicMs()]).toEqual([10, 20]);
});

test('the system clock fires a short timer and never a very long one at once', async () => {
  let longFired = false;
  const cancel = systemClock.setTimer(2 ** 40, () => (longFired = true));
  await new Promise<void>((resolve) => void systemClock.setTimer(20, resolve));
  cancel();
  expect(longFired).toBe(false);
});

test('a timer of a month fires after all of it, with timers that Node does not fire at once', () => {
  const MONTH_MS = 31 * 86_400_000;
  const set: { work: () => void; ms: number }[] = [];
  let fired = 0;
  startTimer(MONTH_MS, () => (fired += 1), {
    setTimeout: (work, ms) => set.push({ work, ms }),
    clearTimeout: () => undefined,
  });
  set[0]?.work();
  expect([set.length, fired]).toEqual([2, 0]);
  set[1]?.work();
  expect([fired, set.every(({ ms }) => ms < 2 ** 31)]).toEqual([1, true]);
  expect(set.reduce((sum, { ms }) => sum + ms, 0)).toBe(MONTH_MS);
});
