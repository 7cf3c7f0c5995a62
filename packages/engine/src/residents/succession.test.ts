import { expect, test } from 'vitest';
import { beGood, type FakeGuest } from './fixtures/fake-starter.ts';
import { openRuntime, planOf, settle } from './fixtures/open-runtime.ts';

const SENSES = 'senses.ci';
const kept = { isKept: true };
const TRIED_AGAIN = `\n(tried again when its files change, or by caisson residents reset ${SENSES})`;
const answered = { durationMs: 1, signals: [] };
const idsOf = (guest: FakeGuest | undefined): string[] =>
  (guest?.orders ?? []).flatMap((order) => (order.kind === 'compute' ? [order.id] : []));

test('a changed plan gets the new work when it is ready, and the old worker finishes what is under way', async () => {
  const { runtime, starter, compute, events } = openRuntime({ script: (guest) => guest.ready() });
  runtime.declare(planOf(SENSES, ['a', 'b']), kept);
  const first = compute(SENSES, 'a');
  await settle();
  runtime.declare(planOf(SENSES, ['a', 'b'], 'two'), kept);
  await settle();
  const second = compute(SENSES, 'b');
  const [old, next] = starter.guests;
  expect([idsOf(old).length, idsOf(next).length, next?.plan.digest]).toEqual([1, 1, 'two']);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', pid: 1002, underWay: 2, crashes: 0 });
  expect(old?.orders.map(({ kind }) => kind)).toEqual(['compute']);
  old?.computed(idsOf(old)[0] ?? '');
  next?.computed(idsOf(next)[0] ?? '');
  expect([await first, await second]).toEqual([answered, answered]);
  await settle();
  expect([old?.isOver, next?.isOver]).toEqual([true, false]);
  expect(events.map(({ type, data }) => [type, data])).toMatchObject([
    ['resident.started', {}],
    ['resident.started', { isNewVersion: true }],
    ['resident.ended', { why: 'stopped', detail: 'a new version took its place' }],
  ]);
});

test('a plan that is not changed replaces nothing', async () => {
  const { runtime, starter, compute } = openRuntime();
  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  runtime.declare(planOf(SENSES, ['a']), kept);
  await settle();
  expect(starter.guests.length).toBe(1);
});

test('a changed file that does not load leaves the old version at work, says so, and is not tried again', async () => {
  const { runtime, starter, compute, warnings, events } = openRuntime({
    script(guest) {
      if (guest.plan.digest !== 'broken') return beGood(guest);
      guest.ready({ a: 'Unexpected token' });
    },
  });
  runtime.declare(planOf(SENSES, ['a', 'b']), kept);
  await compute(SENSES, 'a');
  runtime.declare(planOf(SENSES, ['a', 'b'], 'broken'), kept);
  await settle();
  expect(await compute(SENSES, 'a')).toEqual(answered);
  runtime.declare(planOf(SENSES, ['a', 'b'], 'broken'), kept);
  await settle();
  expect(starter.guests.map(({ isOver }) => isOver)).toEqual([false, true]);
  expect(runtime.view(SENSES)).toMatchObject({
    state: 'ready',
    pid: 1001,
    crashes: 0,
    problems: { a: 'Unexpected token' },
  });
  expect(warnings).toEqual([`the old version of senses.ci goes on: a: Unexpected token${TRIED_AGAIN}`]);
  expect(events.at(-1)).toMatchObject({
    type: 'resident.ended',
    data: { why: 'stopped', detail: 'it does not load: a: Unexpected token' },
  });
  runtime.declare(planOf(SENSES, ['a', 'b'], 'fixed'), kept);
  await settle();
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', pid: 1003 });
  expect(runtime.view(SENSES)?.problems).toBeUndefined();
});

test('a changed version that ends before it is ready is no crash of the key, and is tried up to the crash limit', async () => {
  const { runtime, starter, compute, warnings, advance } = openRuntime({
    script(guest) {
      if (guest.plan.digest === 'one') beGood(guest);
      else guest.end({ why: 'exited', detail: 'code 3' });
    },
  });
  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  runtime.declare(planOf(SENSES, ['a'], 'two'), kept);
  await settle();
  await advance(999);
  expect([starter.guests.length, warnings]).toEqual([2, []]);
  for (let retry = 0; retry < 10; retry += 1) await advance(1000);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', pid: 1001, crashes: 0 });
  expect(starter.guests.length).toBe(6);
  expect(warnings).toEqual([
    `the old version of senses.ci goes on: a: the changed version ended (exited: code 3)${TRIED_AGAIN}`,
  ]);
});

test('a changed version whose first start is killed, or fails, takes over after the delay', async () => {
  let kills = 1;
  const { runtime, starter, compute, warnings, advance } = openRuntime({
    script(guest) {
      if (guest.plan.digest === 'one' || kills-- <= 0) beGood(guest);
      else guest.end({ why: 'signal', detail: 'SIGKILL' });
    },
  });
  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  const start = starter.start.bind(starter);
  starter.start = () => Promise.reject(new Error('EAGAIN'));
  runtime.declare(planOf(SENSES, ['a'], 'two'), kept);
  await settle();
  starter.start = start;
  for (let retry = 0; retry < 2; retry += 1) await advance(1000);
  expect(starter.guests.map(({ plan, isOver }) => [plan.digest, isOver])).toEqual([
    ['one', true],
    ['two', true],
    ['two', false],
  ]);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', crashes: 0 });
  expect(warnings).toEqual([]);
});

test('a reset tries a refused version again', async () => {
  let isBroken = true;
  const { runtime, compute } = openRuntime({
    script(guest) {
      if (guest.plan.digest === 'two' && isBroken) guest.ready({ a: 'Cannot find package' });
      else beGood(guest);
    },
  });
  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  runtime.declare(planOf(SENSES, ['a'], 'two'), kept);
  await settle();
  expect(runtime.view(SENSES)).toMatchObject({ pid: 1001, problems: { a: 'Cannot find package' } });
  isBroken = false;
  await runtime.reset(SENSES);
  await settle();
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', pid: 1003 });
  expect(runtime.view(SENSES)?.problems).toBeUndefined();
});

test('a shutdown ends the wait for the next trial', async () => {
  const { runtime, compute, clock } = openRuntime({
    script: (guest) => (guest.plan.digest === 'one' ? beGood(guest) : guest.end()),
  });
  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  runtime.declare(planOf(SENSES, ['a'], 'two'), kept);
  await settle();
  await runtime.shutdown({ graceMs: 0 });
  expect(clock.pendingTimers()).toBe(0);
});

test('a trial takes the place of a worker that crashes meanwhile', async () => {
  const { runtime, starter, compute, advance } = openRuntime({ startMs: 100 });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const first = compute(SENSES, 'a');
  await settle();
  await advance(100);
  await first;
  runtime.declare(planOf(SENSES, ['a'], 'two'), kept);
  starter.guests[0]?.end();
  await settle();
  expect(runtime.view(SENSES)).toMatchObject({ state: 'starting', crashes: 1, starts: 2 });
  const second = compute(SENSES, 'a');
  await advance(100);
  expect(await second).toEqual(answered);
  expect(starter.guests.length).toBe(2);
});

test('a worker that is crashed while the old one is leaving is started again all the same', async () => {
  const { runtime, starter, compute, advance } = openRuntime({ script: (guest) => guest.ready() });
  runtime.declare(planOf(SENSES, ['a', 'b']), kept);
  void compute(SENSES, 'a');
  await settle();
  runtime.declare(planOf(SENSES, ['a', 'b'], 'two'), kept);
  await settle();
  starter.guests[1]?.end();
  await settle();
  await advance(1000);
  expect(starter.guests.map(({ isOver }) => isOver)).toEqual([false, true, false]);
});

test('an old worker that does not finish is ended, and its compute is repeated by the new one', async () => {
  const { runtime, starter, advance } = openRuntime({
    script: (guest) => (guest.plan.digest === 'one' ? guest.ready() : beGood(guest)),
    limits: { drainMs: 4000 },
  });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const cause = { kind: 'user' } as const;
  const order = { name: 'a', computeId: 'compute_1', causes: [], cause, timeoutMs: 1000, graceMs: 1000 };
  const outcome = runtime.compute(SENSES, order);
  await settle();
  runtime.declare(planOf(SENSES, ['a'], 'two'), kept);
  await settle();
  await advance(4500);
  expect(await outcome).toEqual(answered);
  expect(starter.guests.map(({ isOver }) => isOver)).toEqual([true, false]);
});

test('changes that come faster than workers start are tried together, and the newest gets the work', async () => {
  const { runtime, starter, compute, advance } = openRuntime({ startMs: 500 });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const first = compute(SENSES, 'a');
  await settle();
  await advance(500);
  await first;
  for (let change = 1; change <= 20; change += 1) {
    runtime.declare(planOf(SENSES, ['a'], `v${change}`), kept);
    await advance(100);
  }
  for (let half = 0; half < 4; half += 1) await advance(500);
  expect(starter.guests.filter(({ isOver }) => !isOver).map(({ plan }) => plan.digest)).toEqual(['v20']);
  expect(starter.most.get(SENSES)).toBe(2);
  expect(starter.guests.length).toBeLessThan(8);
});

test('while an old worker finishes, the next change waits for it', async () => {
  const { runtime, starter, compute } = openRuntime({ script: (guest) => guest.ready() });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const outcome = compute(SENSES, 'a');
  await settle();
  runtime.declare(planOf(SENSES, ['a'], 'two'), kept);
  await settle();
  runtime.declare(planOf(SENSES, ['a'], 'three'), kept);
  await settle();
  expect(starter.guests.map(({ plan }) => plan.digest)).toEqual(['one', 'two']);
  const [old] = starter.guests;
  old?.computed(idsOf(old)[0] ?? '');
  await outcome;
  await settle();
  expect(starter.guests.map(({ plan, isOver }) => [plan.digest, isOver])).toEqual([
    ['one', true],
    ['two', true],
    ['three', false],
  ]);
});

test('an old worker that still finishes its work is ended by a shutdown, also after the next ones failed', async () => {
  const { runtime, starter, compute, advance } = openRuntime({
    script: (guest) => guest.ready(guest.plan.digest === 'broken' ? { a: 'Unexpected token' } : {}),
  });
  runtime.declare(planOf(SENSES, ['a']), kept);
  void compute(SENSES, 'a');
  await settle();
  runtime.declare(planOf(SENSES, ['a'], 'two'), kept);
  await settle();
  starter.newest().end();
  await settle();
  runtime.declare(planOf(SENSES, ['a'], 'broken'), kept);
  await advance(1000);
  expect(starter.guests.map(({ isOver }) => isOver)).toEqual([false, true, true]);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'unloadable', underWay: 1 });
  await runtime.shutdown({ graceMs: 0 });
  expect(starter.guests.map(({ isOver }) => isOver)).toEqual([true, true, true]);
});
