import { expect, test } from 'vitest';
import type { Engine } from '../engine.ts';
import { createRepeatedWork, listDueWork, type DueRooms } from './due-work.ts';

/** What the parts of an engine were asked to do. */
function openParts() {
  const closing = new AbortController();
  const done: string[] = [];
  const does = (name: string) => () => {
    done.push(name);
    return Promise.resolve([]);
  };
  const seals = createRepeatedWork('seals');
  seals.repeat(() => void done.push('seal'), 2000);
  const engine = {
    ledger: {
      isThere: () => false,
      questions: () => (done.push('questions'), []),
      runs: () => (done.push('runs to push'), []),
      walkRuns: () => (done.push('runs to push'), []),
    },
    clock: { now: () => new Date(0) },
    recover: async () => (done.push('recover'), { left: [] }),
    checkPost: does('socket of the host'),
    callbacks: { resume: does('callbacks') },
    mirror: { sendMarked: does('bucket') },
    config: { stateDir: '/nowhere' },
    dispatcher: { closing: closing.signal },
    rooms: {},
  } as unknown as Engine;
  const rooms = {
    socket: { check: does('socket') },
    notifier: { aliveEveryMs: 500, alive: does('alive') },
    seals,
    schedules: { name: 'schedules', everyMs: 2000, run: does('schedules') },
    endGone: does('end'),
  } as unknown as DueRooms;
  return { done, closing, engine, tasks: listDueWork(engine, rooms) };
}

test.each([
  ['ledger', 2000, 'end'],
  ['seals', 2000, 'seal'],
  ['schedules', 2000, 'schedules'],
  ['recovery', 4000, 'recover'],
  ['socket', 10_000, 'socket'],
  ['socket', 10_000, 'socket of the host'],
  ['questions', 10_000, 'questions'],
  ['pushes', 60_000, 'runs to push'],
  ['callbacks', 60_000, 'callbacks'],
  ['bucket', 60_000, 'bucket'],
  ['watchdog', 500, 'alive'],
])('a daemon does its work "%s" every %i ms', async (name, everyMs, asked) => {
  const { done, tasks } = openParts();
  const task = tasks.find((one) => one.name === name);
  expect(task?.everyMs).toBe(everyMs);
  await task?.run();
  expect(done).toContain(asked);
});

test('a daemon that ends does not wait until its bucket has everything', async () => {
  const { tasks, engine, closing } = openParts();
  Object.assign(engine.mirror ?? {}, { sendMarked: () => new Promise(() => undefined) });
  const sent = tasks.find(({ name }) => name === 'bucket')?.run();
  closing.abort();
  expect(await sent).toBeUndefined();
});

test('a daemon does nothing else by itself, except for the length of its own log', () => {
  const { tasks } = openParts();
  expect(tasks.map(({ name }) => name).toSorted()).toEqual([
    ...['bucket', 'callbacks', 'ledger', 'log', 'pushes', 'questions', 'recovery', 'schedules', 'seals'],
    ...['socket', 'watchdog'],
  ]);
});
