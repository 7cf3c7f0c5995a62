import { createManualClock } from '@caisson/ground';
import type { Cause, ResidentView } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { createMemoryLedger, createRecorder, type PublishedEvent } from '../ledger/index.ts';
import type { ComputeOutcome, SenseSettings, WorkerRuntime } from './contract.ts';
import { settle } from './fixtures/open-runtime.ts';
import { createSenses } from './senses.ts';

const grant = { read: [], write: [], hosts: [], limits: { memory: 1, pids: 1, disk: 1 } };
const sense = (name: string, rest: Partial<SenseSettings> = {}): SenseSettings => ({
  name,
  file: `/project/${name}.ts`,
  group: name,
  on: [],
  throttleMs: 0,
  timeoutMs: 30_000,
  graceMs: 5000,
  grant,
  ...rest,
});

/** Computes that a test ends, or that end at once. */
function openSenses(isInstant = true) {
  const clock = createManualClock();
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock });
  const events: PublishedEvent[] = [];
  recorder.listen((event) => events.push(event));
  type Order = Parameters<WorkerRuntime['compute']>[1];
  const computes: (Order & { end: (outcome?: ComputeOutcome) => void })[] = [];
  const emitted: unknown[] = [];
  const delivered: unknown[] = [];
  const recordedSignals = { gate: Promise.resolve() };
  const idle: ResidentView = { key: '', state: 'ready', serves: [], crashes: 0, starts: 0, underWay: 0 };
  const state = { view: idle };
  const senses = createSenses({
    clock,
    runtime: {
      compute(_key, order) {
        const { promise, resolve } = Promise.withResolvers<ComputeOutcome>();
        const end = (outcome: ComputeOutcome = { durationMs: 3, signals: [] }): void => resolve(outcome);
        computes.push({ ...order, end });
        if (isInstant) end();
        return promise;
      },
      delivered: (...given) => void delivered.push(given),
      view: () => state.view,
    },
    signals: {
      async emit(...given) {
        await recordedSignals.gate;
        emitted.push(given);
      },
    },
    record: recorder.of(null),
    onDeclared: () => undefined,
    warn: () => undefined,
  });
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  const kinds = (): string[] => computes.map(({ cause }) => cause.kind);
  return { clock, senses, computes, kinds, emitted, delivered, events, advance, state, recordedSignals };
}

test('a sense computes at each interval, with one timer for all of them', async () => {
  const { senses, computes, advance, clock, events } = openSenses();
  senses.set([sense('a', { intervalMs: 1000 }), sense('b', { intervalMs: 2000 }), sense('c')]);
  for (let second = 0; second < 4; second += 1) {
    expect(clock.pendingTimers()).toBe(1);
    await advance(1000);
  }
  expect(computes.map(({ name }) => name)).toEqual(['a', 'a', 'b', 'a', 'a', 'b']);
  expect(events.map(({ type }) => type)).toEqual(Array(6).fill('sense.computed'));
  expect(senses.views()[0]).toEqual({
    name: 'a',
    group: 'a',
    file: '/project/a.ts',
    state: 'ready',
    intervalMs: 1000,
    on: [],
    isComputing: false,
    computes: 4,
    failures: 0,
    lastComputeAt: '2026-01-01T00:00:04.000Z',
    lastDurationMs: 3,
    nextAt: '2026-01-01T00:00:05.000Z',
  });
  senses.stop();
  expect(clock.pendingTimers()).toBe(0);
});

test('after the machine slept there is one compute, not one for each missed time', async () => {
  const { senses, computes, advance, clock } = openSenses();
  senses.set([sense('a', { intervalMs: 1000 })]);
  // A machine that sleeps calls no timer until it wakes up.
  const { monotonicMs } = clock;
  clock.monotonicMs = () => monotonicMs() + 3_600_000;
  const { setTimer } = clock;
  let timers = 0;
  clock.setTimer = (ms, work) => {
    timers += 1;
    return setTimer(ms, work);
  };
  await advance(1000);
  expect([computes.length, timers]).toEqual([1, 1]);
  await advance(999);
  expect(computes.length).toBe(1);
  await advance(1);
  expect(computes.length).toBe(2);
});

test('one compute at a time: a time that comes meanwhile is skipped, and changes of files become one', async () => {
  const { senses, computes, kinds, advance } = openSenses(false);
  senses.set([sense('a', { intervalMs: 1000 })]);
  await advance(1000);
  await advance(1000);
  expect(computes.length).toBe(1);
  const causes = [{ signalId: 's', name: 'red', sense: 'b' }];
  const requests = [
    senses.request('a', { kind: 'files', paths: ['x', 'y'] }),
    senses.request('a', { kind: 'files', paths: ['y', 'z'] }),
  ];
  computes[0]?.end();
  await settle();
  expect(computes[1]?.cause).toEqual({ kind: 'files', paths: ['x', 'y', 'z'] });
  const cause = { kind: 'signal', name: 'red', signalId: 's', payload: 1 } as const;
  requests.push(senses.request('a', cause, causes), senses.request('a', { kind: 'files', paths: ['q'] }));
  computes[1]?.end();
  await settle();
  computes[2]?.end();
  await settle();
  computes[3]?.end();
  await Promise.all(requests);
  expect(kinds()).toEqual(['interval', 'files', 'signal', 'files']);
});

test('each request of a person is a compute of its own, in order', async () => {
  const { senses, computes } = openSenses();
  senses.set([sense('a')]);
  const outcomes = Array.from({ length: 50 }, () => senses.request('a', { kind: 'user' }));
  await Promise.all(outcomes);
  expect(computes.length).toBe(50);
});

test('a throttle makes one compute of what comes within it, and everyone gets its outcome', async () => {
  const { senses, computes, advance } = openSenses();
  senses.set([sense('a', { throttleMs: 10_000 })]);
  const ask = () => senses.request('a', { kind: 'files', paths: ['x'] });
  await ask();
  const outcomes = Array.from({ length: 5 }, ask);
  await advance(9999);
  expect(computes.length).toBe(1);
  await advance(1);
  expect((await Promise.all(outcomes)).length).toBe(5);
  expect(computes.length).toBe(2);
});

test('a person who asks waits for no throttle, and what waits for it is computed with that', async () => {
  const { senses, computes, advance } = openSenses();
  senses.set([sense('a', { throttleMs: 600_000 })]);
  await senses.request('a', { kind: 'user' });
  const files = senses.request('a', { kind: 'files', paths: ['x'] });
  expect(computes.length).toBe(1);
  await Promise.all([senses.request('a', { kind: 'user' }), files]);
  await advance(599_999);
  expect(computes.length).toBe(2);
});

const redOf = (n: number) =>
  ({ kind: 'signal', name: n % 2 === 0 ? 'green' : 'red', signalId: `signal_${n}`, payload: n }) as const;

test('without a throttle each signal and each ending of a run is a compute of its own, in order', async () => {
  const { senses, computes } = openSenses();
  senses.set([sense('a', { intervalMs: 1000 })]);
  const run = (runId: string) => senses.request('a', { kind: 'run', runId, status: 'error' });
  const files = (path: string) => senses.request('a', { kind: 'files', paths: [path] });
  const signals = [1, 2, 3].map((n) => senses.request('a', redOf(n)));
  await Promise.all([...signals, files('x'), run('run_a'), run('run_b'), files('y')]);
  expect(computes.map(({ cause }) => cause)).toEqual([
    ...[1, 2, 3].map(redOf),
    { kind: 'files', paths: ['x', 'y'] },
    { kind: 'run', runId: 'run_a', status: 'error' },
    { kind: 'run', runId: 'run_b', status: 'error' },
  ]);
});

test('a signal for which there is no room is dropped, and its sender learns it', async () => {
  const { senses, computes } = openSenses();
  senses.set([sense('a')]);
  const outcomes = await Promise.all(Array.from({ length: 1003 }, (_, n) => senses.request('a', redOf(n))));
  expect(computes.length).toBe(1001);
  expect(outcomes.map(({ dropped }) => dropped)).toEqual([
    ...Array<undefined>(1001).fill(undefined),
    ...Array<string>(2).fill('overflow'),
  ]);
});

test('the next compute begins when the signals of the one before are recorded', async () => {
  const { senses, computes, emitted, recordedSignals } = openSenses(false);
  const { promise, resolve } = Promise.withResolvers<void>();
  recordedSignals.gate = promise;
  senses.set([sense('a')]);
  const first = senses.request('a', { kind: 'user' });
  void senses.request('a', { kind: 'user' });
  computes[0]?.end({ durationMs: 1, signals: [{ name: 'red', payload: 1 }] });
  await settle();
  expect([computes.length, emitted]).toEqual([1, []]);
  resolve();
  expect((await first).signals.length).toBe(1);
  expect([computes.length, emitted.length]).toEqual([2, 1]);
});

test('a compute that failed emits nothing and is counted with its problem', async () => {
  const { senses, computes, emitted } = openSenses(false);
  senses.set([sense('a')]);
  const outcome = senses.request('a', { kind: 'user' });
  const failure = { kind: 'timeout', detail: 'after 30 s' } as const;
  computes[0]?.end({ durationMs: 30_000, signals: [{ name: 'red', payload: 1 }], failure });
  expect((await outcome).failure).toEqual(failure);
  expect(emitted).toEqual([]);
  expect(senses.views()[0]).toMatchObject({
    computes: 1,
    failures: 1,
    lastProblem: 'timeout: after 30 s',
  });
});

test('a sense whose worker is blocked is not computed by its interval, and a person gets the reason', async () => {
  const { senses, computes, advance, state } = openSenses();
  state.view = { ...state.view, state: 'blocked' };
  senses.set([sense('a', { intervalMs: 1000 })]);
  await advance(5000);
  expect(computes.length).toBe(0);
  await senses.request('a', { kind: 'user' });
  expect(computes.length).toBe(1);
});

test('a reload keeps the times and counts of a sense, and ends what waits of one that is gone', async () => {
  const { senses, computes, advance } = openSenses(false);
  senses.set([sense('a', { intervalMs: 1000 }), sense('b')]);
  await advance(600);
  const first = senses.request('b', { kind: 'user' });
  const waiting = senses.request('b', { kind: 'user' });
  senses.set([sense('a', { intervalMs: 1000, throttleMs: 5 })]);
  await advance(400);
  expect(computes.map(({ name }) => name)).toEqual(['b', 'a']);
  expect((await waiting).failure?.kind).toBe('invalid');
  computes[0]?.end();
  expect((await first).failure).toBeUndefined();
  expect((await senses.request('b', { kind: 'user' })).failure?.kind).toBe('aborted');
});

test('what a lost answer emitted is recorded, and its worker may forget it', async () => {
  const { senses, emitted, delivered } = openSenses();
  senses.set([sense('a', { group: 'g' })]);
  const emission = { computeId: 'compute_1', signals: [{ name: 'red', payload: 1 }], causes: [] };
  await senses.takeUndelivered('a', emission);
  await senses.takeUndelivered('other', emission);
  expect(emitted).toEqual([['a', emission]]);
  expect(delivered).toEqual([['senses.g', 'a', 'compute_1']]);
});

test('one compute for several signals covers them all, and has what led to each as its cause', async () => {
  const { senses, computes, advance } = openSenses();
  senses.set([sense('a', { throttleMs: 10_000 })]);
  await senses.request('a', { kind: 'user' });
  const causeOf = (signalId: string, name: string): Cause => ({ signalId, name, sense: 'b' });
  const ask = (signalId: string, causes: readonly Cause[]): void =>
    void senses.request('a', { kind: 'signal', name: 'red', signalId, payload: 1 }, causes);
  ask('signal_1', [causeOf('signal_0', 'loop'), causeOf('signal_1', 'red')]);
  ask('signal_2', [causeOf('signal_2', 'red')]);
  await advance(10_000);
  const [, joined] = computes;
  expect(joined?.causes).toEqual([causeOf('signal_0', 'loop'), causeOf('signal_2', 'red')]);
  expect(joined?.cause).toMatchObject({ signalId: 'signal_2' });
  // Alone, by a host that knows nothing of the other: its compute is one of those that were covered.
  const later = openSenses();
  later.senses.set([sense('a')]);
  await later.senses.request('a', { kind: 'signal', name: 'red', signalId: 'signal_1', payload: 1 });
  expect(joined?.covers).toEqual([later.computes[0]?.computeId]);
});

test('many joined signals are no deep chain', async () => {
  const { senses, computes, advance } = openSenses();
  senses.set([sense('a', { throttleMs: 10_000 })]);
  await senses.request('a', { kind: 'user' });
  for (let n = 0; n < 40; n += 1) {
    const cause = { kind: 'signal', name: `s${n}`, signalId: `signal_${n}`, payload: n } as const;
    void senses.request('a', cause, [{ signalId: cause.signalId, name: cause.name, sense: 'b' }]);
  }
  await advance(10_000);
  expect(computes[1]?.causes.map(({ name }) => name)).toEqual([
    's32',
    's33',
    's34',
    's35',
    's36',
    's37',
    's38',
    's39',
  ]);
});

test('a compute that a person asks for is made before the signals that wait', async () => {
  const { senses, computes, kinds } = openSenses(false);
  senses.set([sense('a')]);
  for (let index = 0; index < 3; index += 1)
    void senses.request('a', { kind: 'signal', name: 'red', signalId: `s${index}`, payload: null });
  for (let index = 0; index < 2; index += 1) void senses.request('a', { kind: 'user' });
  for (let index = 0; index < 5; index += 1) {
    computes[index]?.end();
    await settle();
  }
  expect(kinds()).toEqual(['signal', 'user', 'user', 'signal', 'signal']);
  const signals = computes.flatMap(({ cause }) => (cause.kind === 'signal' ? [cause.signalId] : []));
  expect(signals).toEqual(['s0', 's1', 's2']);
});
