import { createManualClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import type { DeliveredSignal } from './contract.ts';
import { createFakeThreads } from './fixtures/fake-threads.ts';
import { settle } from './fixtures/open-runtime.ts';
import { createSignals } from './signals.ts';

/** `red` starts the workflow `fix` and wakes the sense `relay`, which emits what a test says. */
function openSignals() {
  const clock = createManualClock();
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock });
  const threads = createFakeThreads();
  const woken: [string, DeliveredSignal][] = [];
  const warnings: string[] = [];
  const answers = new Map<string, { name: string; payload: unknown }[]>();
  const listeners = {
    workflows: { red: ['fix'] } as Record<string, string[]>,
    senses: { red: ['relay'], blue: ['back'] } as Record<string, string[]>,
  };
  /** Whether a requested compute is made, and whether its end is reported. */
  const works = { begins: true, ends: true, isBlocked: false };
  const looping = new Set<string>();
  const open = () => {
    const signals = createSignals({
      clock,
      recorder,
      ledger,
      allowsLoop: (sense) => looping.has(sense),
      findListeners: (name) => ({
        senses: listeners.senses[name] ?? [],
        workflows: listeners.workflows[name] ?? [],
      }),
      async computeFor(sense, signal) {
        woken.push([sense, signal]);
        const never = new Promise<void>(() => undefined);
        if (!works.begins) return never.then(() => ({}));
        if (works.isBlocked) return { dropped: 'blocked' };
        const emitted = signals.emit(sense, {
          computeId: `${signal.signalId}.${sense}`,
          signals: answers.get(sense) ?? [],
          causes: [...signal.causes, { signalId: signal.signalId, name: signal.name, sense: signal.sense }],
        });
        await (works.ends ? emitted : emitted.then(() => never));
        return {};
      },
      startThread: threads.start,
      warn: (message) => warnings.push(message),
    });
    return signals;
  };
  const signals = open();
  signals.resume();
  let computes = 0;
  /** What a compute without a cause emits. */
  const emit = (
    sense: string,
    list: { name: string; payload: unknown }[],
    computeId = `c${(computes += 1)}`,
  ) => signals.emit(sense, { computeId, signals: list, causes: [] });
  const recorded = async (): Promise<unknown[]> => {
    await settle();
    await recorder.flush();
    return ledger
      .read({ runId: null, types: ['signal.emitted', 'signal.dropped'] })
      .map(({ type, data }) => [type, data]);
  };
  return {
    looping,
    clock,
    ledger,
    threads,
    woken,
    warnings,
    answers,
    listeners,
    signals,
    emit,
    open,
    recorded,
    works,
  };
}

const red = { name: 'red', payload: { failed: 3 } };

test('a signal without a listener is not recorded', async () => {
  const { emit, recorded } = openSignals();
  await emit('ci', [{ name: 'green', payload: 1 }]);
  expect(await recorded()).toEqual([]);
});

test('a signal is recorded with its listeners, starts a thread and wakes a sense', async () => {
  const { emit, recorded, threads, woken } = openSignals();
  await emit('ci', [red]);
  const signalId = expect.stringMatching(/^signal_/) as string;
  expect(await recorded()).toEqual([
    [
      'signal.emitted',
      { signalId, ...red, sense: 'ci', causes: [], listeners: ['sense.relay', 'workflow.fix'] },
    ],
  ]);
  expect(threads.started).toEqual([
    {
      workflow: 'fix',
      trigger: { kind: 'signal', name: 'red', signalId, sense: 'ci' },
      payload: red.payload,
      causes: [],
      idempotencyKey: expect.stringMatching(/^signal_.*\.fix$/),
    },
  ]);
  expect(woken).toEqual([['relay', { signalId, ...red, sense: 'ci', causes: [] }]]);
});

test('a signal that leads to itself is dropped after one round, and the drops are counted', async () => {
  const { emit, recorded, answers, woken, clock } = openSignals();
  answers.set('relay', [{ name: 'blue', payload: 0 }]);
  answers.set('back', [{ name: 'red', payload: 0 }]);
  await emit('back', [red]);
  await settle();
  expect(woken.map(([sense]) => sense)).toEqual(['relay', 'back']);
  const events = await recorded();
  expect(events.map((event) => (event as [string])[0])).toEqual([
    'signal.emitted',
    'signal.emitted',
    'signal.dropped',
  ]);
  expect(events.at(-1)).toMatchObject([
    'signal.dropped',
    { name: 'red', sense: 'back', why: 'loop', count: 1, causes: [{ name: 'red' }, { name: 'blue' }] },
  ]);
  for (let again = 0; again < 3; again += 1) {
    await emit('back', [red]);
    await settle();
  }
  clock.advance(60_000);
  expect((await recorded()).at(-1)).toMatchObject(['signal.dropped', { why: 'loop', count: 3 }]);
});

test('a sense that allows it may lead to itself, as far as the depth of the chain', async () => {
  const { emit, recorded, answers, woken, looping } = openSignals();
  for (const sense of ['relay', 'back']) looping.add(sense);
  answers.set('relay', [{ name: 'blue', payload: 0 }]);
  answers.set('back', [{ name: 'red', payload: 0 }]);
  await emit('back', [red]);
  for (let round = 0; round < 20; round += 1) await settle();
  expect(woken).toHaveLength(16);
  expect((await recorded()).at(-1)).toMatchObject(['signal.dropped', { why: 'depth' }]);
});

test('another sense may pass on a signal of the same name', async () => {
  const { emit, answers, woken, listeners, recorded } = openSignals();
  listeners.senses['red'] = ['relay'];
  answers.set('relay', [red]);
  await emit('ci', [red]);
  expect((await recorded()).map((event) => (event as [string])[0])).toEqual([
    'signal.emitted',
    'signal.emitted',
    'signal.dropped',
  ]);
  expect(woken.map(([, { causes }]) => causes.length)).toEqual([0, 1]);
});

test('a chain is cut at sixteen causes', async () => {
  const { emit, recorded, listeners, answers } = openSignals();
  for (let link = 0; link < 30; link += 1) {
    listeners.senses[`s${link}`] = [`sense${link + 1}`];
    answers.set(`sense${link + 1}`, [{ name: `s${link + 1}`, payload: null }]);
  }
  await emit('sense0', [{ name: 's0', payload: null }]);
  for (let turn = 0; turn < 30; turn += 1) await settle();
  const events = await recorded();
  expect(events.length).toBe(17);
  expect(events.at(-1)).toMatchObject(['signal.dropped', { name: 's16', why: 'depth', count: 1 }]);
});

test('a sense has sixty signals a minute; the others are one record', async () => {
  const { emit, recorded, clock } = openSignals();
  for (let count = 0; count < 100; count += 1) await emit('ci', [red]);
  expect((await recorded()).length).toBe(61);
  clock.advance(60_000);
  expect((await recorded()).at(-1)).toMatchObject(['signal.dropped', { why: 'rate', count: 39 }]);
  await emit('ci', [red]);
  expect((await recorded()).length).toBe(63);
});

test('a thread for which there is no room is a recorded drop for that workflow', async () => {
  const { emit, recorded, threads } = openSignals();
  threads.next = { dropped: 'overflow' };
  await emit('ci', [red]);
  expect((await recorded()).at(-1)).toMatchObject([
    'signal.dropped',
    { name: 'red', why: 'overflow', listener: 'workflow.fix' },
  ]);
});

test('a sense that cannot compute is a recorded drop for it', async () => {
  const { emit, recorded, works, open, woken } = openSignals();
  works.isBlocked = true;
  await emit('ci', [red]);
  expect((await recorded()).at(-1)).toMatchObject([
    'signal.dropped',
    { name: 'red', sense: 'ci', why: 'blocked', listener: 'sense.relay', count: 1 },
  ]);
  open().resume(); // it is not delivered later
  await recorded();
  expect(woken.length).toBe(1);
});

test('what was recorded and not delivered is delivered by the next daemon, once', async () => {
  const { signals, emit, open, threads, woken, clock, recorded, warnings } = openSignals();
  await emit('ci', [red]);
  await settle();
  clock.advance(1000);
  threads.next = new Error('the ledger is locked');
  await emit('ci', [{ name: 'red', payload: 2 }]);
  await settle();
  signals.stop();
  expect([threads.started.length, warnings.length]).toEqual([1, 1]);
  const next = open();
  next.resume();
  await recorded();
  expect(threads.started.map(({ payload }) => payload)).toEqual([red.payload, 2]);
  clock.advance(1000);
  const wakes = woken.length;
  open().resume();
  await recorded();
  expect([threads.started.length, woken.length]).toEqual([2, wakes]);
});

test('what a daemon left is delivered by the next one, also when a sense of that one emits before', async () => {
  const { signals, emit, open, threads, recorded } = openSignals();
  threads.next = new Error('the ledger is locked');
  await emit('ci', [red]);
  await settle();
  signals.stop();
  const next = open();
  await next.emit('ci', { computeId: 'early', signals: [{ name: 'red', payload: 2 }], causes: [] });
  await recorded();
  next.resume();
  await recorded();
  expect(threads.started.map(({ payload }) => payload)).toEqual([red.payload, 2]);
});

test('what a compute emitted is recorded and delivered once, however often it is reported', async () => {
  const { emit, recorded, threads, woken } = openSignals();
  await Promise.all([emit('ci', [red], 'compute_1'), emit('ci', [red], 'compute_1')]);
  await emit('ci', [red], 'compute_1');
  expect((await recorded()).length).toBe(1);
  expect([threads.started.length, woken.length]).toEqual([1, 1]);
  await emit('ci', [red], 'compute_2');
  expect([(await recorded()).length, threads.started.length, woken.length]).toEqual([2, 2, 2]);
});

test('a thread that could not be started is started later, without a new daemon', async () => {
  const { emit, threads, woken, warnings, clock } = openSignals();
  threads.next = new Error('the ledger is locked');
  await emit('ci', [red]);
  await settle();
  expect([threads.started.length, warnings]).toEqual([
    0,
    ['the signal red is delivered later: the ledger is locked'],
  ]);
  clock.advance(1000);
  await settle();
  expect([threads.started.length, woken.length, warnings.length]).toEqual([1, 1, 1]);
});

test('a compute that a dead daemon did not finish is made again, and emits nothing twice', async () => {
  const { emit, open, woken, answers, recorded, works, threads, listeners } = openSignals();
  listeners.workflows['blue'] = ['fix'];
  listeners.senses['blue'] = [];
  answers.set('relay', [{ name: 'blue', payload: 0 }]);
  works.ends = false;
  await emit('ci', [red]);
  const before = await recorded();
  works.begins = false;
  open().resume();
  await settle();
  Object.assign(works, { begins: true, ends: true });
  open().resume();
  expect(await recorded()).toEqual(before);
  expect(woken.map(([sense]) => sense)).toEqual(['relay', 'relay', 'relay']);
  expect(threads.started.map(({ trigger }) => trigger.kind === 'signal' && trigger.name)).toEqual([
    'red',
    'blue',
  ]);
});

test('what was delivered is not delivered again because something before it still waits', async () => {
  const { emit, open, woken, recorded, works, listeners } = openSignals();
  listeners.workflows['red'] = [];
  works.begins = false;
  await emit('ci', [{ name: 'red', payload: 'waits' }]);
  await settle();
  works.begins = true;
  for (let count = 0; count < 50; count += 1) await emit('ci', [{ name: 'red', payload: count }]);
  await recorded();
  expect(woken.length).toBe(51);
  // Killed: nothing is said to the first one. It has not waited either.
  works.begins = false;
  open().resume();
  await recorded();
  expect(woken.slice(51).map(([, { payload }]) => payload)).toEqual(['waits']);
  works.begins = true;
  open().resume();
  await recorded();
  expect(woken.slice(52).map(([, { payload }]) => payload)).toEqual(['waits']);
  open().resume();
  await recorded();
  expect(woken.length).toBe(53);
});
