import { createManualClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { startTimers } from './timers.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('tasks whose times are multiples of each other share a wake-up, and one timer is set', async () => {
  const clock = createManualClock(0);
  const ran: string[] = [];
  const task = (name: string, everyMs: number) => ({ name, everyMs, run: () => ran.push(name) });
  const timers = startTimers({
    clock,
    tasks: [task('two', 2000), task('four', 4000)],
    warn: () => undefined,
  });
  for (let second = 0; second < 8; second += 1) {
    clock.advance(1000);
    await turn();
    expect(clock.pendingTimers()).toBe(1);
  }
  expect(ran).toEqual(['two', 'two', 'four', 'two', 'two', 'four']);
  await timers.stop();
  expect(clock.pendingTimers()).toBe(0);
});

test('nothing wakes up more often than once a second', async () => {
  const clock = createManualClock(0);
  let ran = 0;
  const timers = startTimers({
    clock,
    tasks: [{ name: 'eager', everyMs: 10, run: () => (ran += 1) }],
    warn: () => undefined,
  });
  for (let step = 0; step < 100; step += 1) {
    clock.advance(100);
    await turn();
  }
  expect(ran).toBe(10);
  await timers.stop();
});

test('a beat that others wait for comes as often as they asked for', async () => {
  const clock = createManualClock(0);
  let beats = 0;
  let ran = 0;
  const tasks = [
    { name: 'watchdog', everyMs: 250, isExact: true, run: () => (beats += 1) },
    { name: 'eager', everyMs: 1000, run: () => (ran += 1) },
  ];
  const timers = startTimers({ clock, tasks, warn: () => undefined });
  for (let step = 0; step < 100; step += 1) {
    clock.advance(50);
    await turn();
  }
  expect([beats, ran]).toEqual([20, 5]);
  await timers.stop();
});

test('a task that fails is tried again, reported once, and stops no other; a slow one is not started twice', async () => {
  const clock = createManualClock(0);
  const warnings: string[] = [];
  let started = 0;
  let good = 0;
  const slow = Promise.withResolvers<void>();
  const runSlow = (): Promise<void> => {
    started += 1;
    return slow.promise;
  };
  const timers = startTimers({
    clock,
    tasks: [
      { name: 'bad', everyMs: 1000, run: () => Promise.reject(new Error('no luck')) },
      { name: 'slow', everyMs: 1000, run: runSlow },
      { name: 'good', everyMs: 1000, run: () => (good += 1) },
    ],
    warn: (message) => void warnings.push(message),
  });
  for (let second = 0; second < 3; second += 1) {
    clock.advance(1000);
    await turn();
  }
  expect([warnings, started, good]).toEqual([['bad: no luck'], 1, 3]);
  const stopped = timers.stop();
  slow.resolve();
  await stopped;
});
