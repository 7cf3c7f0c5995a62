import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { beGood, type FakeGuest } from './fixtures/fake-starter.ts';
import { openRuntime, planOf, settle } from './fixtures/open-runtime.ts';

const SENSES = 'senses.ci';
const FLOW = 'workflow.fix';
const TRIED_AGAIN = `\n(tried again when its files change, or by caisson residents reset ${FLOW})`;
const kept = { isKept: true };
const onDemand = { isKept: false };
const answered = { durationMs: 1, signals: [] };

/** Ready, and silent about its work. */
const onlyReady = (guest: FakeGuest): void => guest.ready();
const idsOf = (guest: FakeGuest): string[] =>
  guest.orders.flatMap((order) => (order.kind === 'compute' || order.kind === 'turn' ? [order.id] : []));

test('a thousand declared keys cost under a megabyte and start nothing', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { runtime, starter } = openRuntime();
  const plans = Array.from({ length: 1000 }, (_, index) => planOf(`senses.group${index}`, [`s${index}`]));
  collect();
  const before = process.memoryUsage().heapUsed;
  for (const plan of plans) runtime.declare(plan, kept);
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(1024 * 1024);
  expect(starter.guests).toEqual([]);
  expect(runtime.view('senses.group7')).toEqual({
    key: 'senses.group7',
    state: 'idle',
    serves: ['s7'],
    crashes: 0,
    starts: 0,
    underWay: 0,
  });
});

test('the first work starts the worker, and the next ones use it', async () => {
  const { runtime, starter, compute, events } = openRuntime();
  runtime.declare(planOf(SENSES, ['a', 'b']), kept);
  const first = compute(SENSES, 'a');
  expect(runtime.view(SENSES)).toMatchObject({ state: 'starting', underWay: 1 });
  expect([await first, await compute(SENSES, 'b')]).toEqual([answered, answered]);
  expect(starter.guests.length).toBe(1);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', starts: 1, underWay: 0, pid: 1001 });
  expect(events.map(({ type }) => type)).toEqual(['resident.started']);
});

test('work for a key that nobody declared fails, and starts nothing', async () => {
  const { compute, starter } = openRuntime();
  expect((await compute(SENSES, 'a')).failure?.kind).toBe('invalid');
  expect(starter.guests).toEqual([]);
});

test('a start that fails is a crash like any other', async () => {
  const { runtime, starter, compute, advance } = openRuntime();
  const start = starter.start.bind(starter);
  starter.start = () => Promise.reject(new Error('no memory for a process'));
  runtime.declare(planOf(SENSES, ['a']), kept);
  const outcome = compute(SENSES, 'a');
  await settle();
  expect(runtime.view(SENSES)).toMatchObject({
    state: 'waiting',
    crashes: 1,
    lastEnding: { why: 'not-started', detail: 'no memory for a process' },
  });
  starter.start = start;
  await advance(1000);
  expect(await outcome).toEqual(answered);
});

test('a worker that crashed is started again after a second, and only when nothing of it is left', async () => {
  const { runtime, starter, compute, advance } = openRuntime();
  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  starter.newest().end({ why: 'memory', detail: 'out of memory', stderrTail: 'heap' });
  await settle();
  expect(runtime.view(SENSES)).toMatchObject({ state: 'waiting', lastEnding: { stderrTail: 'heap' } });
  await advance(999);
  expect(starter.guests.length).toBe(1);
  await advance(1);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', crashes: 1, starts: 2 });
  expect(starter.most.get(SENSES)).toBe(1);
});

test('a workflow whose worker crashed is idle again, and its next turn starts one', async () => {
  const { runtime, starter, turn, advance } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(FLOW, ['fix']), onDemand);
  const { outcome } = turn(FLOW);
  await settle();
  starter.newest().end();
  expect(await outcome).toEqual({ kind: 'failed', failure: { kind: 'crashed', detail: 'exited: code 1' } });
  await advance(1000);
  expect([runtime.view(FLOW)?.state, starter.guests.length]).toEqual(['idle', 1]);
  turn(FLOW);
  await settle();
  expect(starter.guests.length).toBe(2);
});

test('a compute whose worker ends is repeated once, and then fails as crashed', async () => {
  const { runtime, starter, compute, advance } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(SENSES, ['a', 'b']), kept);
  const one = compute(SENSES, 'a');
  const other = compute(SENSES, 'b');
  await settle();
  starter.newest().end();
  await settle();
  await advance(1000);
  const [id = ''] = idsOf(starter.newest());
  starter.newest().computed(id);
  expect(await one).toEqual(answered);
  starter.newest().end();
  expect(await other).toEqual({
    durationMs: 0,
    signals: [],
    failure: { kind: 'crashed', detail: 'exited: code 1' },
  });
  expect(starter.guests.map((guest) => idsOf(guest).length)).toEqual([2, 2]);
});

test('an answer that comes twice, or for work of another kind, has no effect', async () => {
  const { runtime, starter, compute } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const outcome = compute(SENSES, 'a');
  await settle();
  const guest = starter.newest();
  const [id = ''] = idsOf(guest);
  guest.say({ kind: 'turned', id, outcome: { kind: 'end' } });
  guest.computed(id, [{ name: 'red', payload: 1 }]);
  guest.computed(id, [{ name: 'red', payload: 2 }]);
  guest.computed('w999');
  expect((await outcome).signals).toEqual([{ name: 'red', payload: 1 }]);
});

test('the crash limit is that of the plan, also of a changed one; a key is started without work', async () => {
  const { runtime, starter, advance, ledger, recorder } = openRuntime();
  const limited = (limit: number, digest: string) => {
    const plan = planOf(SENSES, ['a'], digest);
    return { ...plan, grant: { ...plan.grant, crashes: { limit, windowMs: 10_000 } } };
  };
  expect(await runtime.start(SENSES)).toBe(false);
  runtime.declare(limited(3, 'one'), kept);
  expect(await runtime.start(SENSES)).toBe(true);
  await settle();
  expect(await runtime.start(SENSES)).toBe(true);
  expect([runtime.view(SENSES)?.state, starter.guests.length]).toEqual(['ready', 1]);
  starter.newest().end();
  await settle();
  expect(await runtime.start(SENSES)).toBe(true);
  await settle();
  expect(runtime.view(SENSES)).toMatchObject({ state: 'waiting', crashes: 1, starts: 1 });
  await advance(1000);
  runtime.declare(limited(2, 'two'), kept);
  await settle();
  starter.guests.find(({ isOver }) => !isOver)?.end();
  await settle();
  starter.guests.find(({ isOver }) => !isOver)?.end();
  await settle();
  expect(runtime.view(SENSES)).toMatchObject({ state: 'blocked', crashes: 2 });
  await recorder.flush();
  const blocks = ledger.read({ runId: null, types: ['resident.blocked'] }).map(({ data }) => data);
  expect(blocks).toMatchObject([{ crashes: 2, windowMs: 10_000 }]);
  expect(await runtime.start(SENSES)).toBe(false);
});

test('five crashes in a minute block a key until a person resets it, whatever was ready between them', async () => {
  const { runtime, starter, compute, advance, ledger, recorder, open, warnings } = openRuntime();
  runtime.declare(planOf(SENSES, ['a']), kept);
  for (let crash = 0; crash < 5; crash += 1) {
    expect(await compute(SENSES, 'a')).toEqual(answered);
    starter.newest().end();
    await settle();
    if (crash < 4) await advance(1000);
  }
  expect(runtime.view(SENSES)).toMatchObject({ state: 'blocked', crashes: 5, starts: 5 });
  expect((await compute(SENSES, 'a')).failure).toEqual({
    kind: 'crashed',
    detail: 'it crashed too often and is blocked (exited: code 1)',
  });
  await recorder.flush();
  const blocks = (): unknown[] =>
    ledger.read({ runId: null, types: ['resident.blocked', 'resident.reset'] }).map(({ data }) => data);
  const block = { key: SENSES, crashes: 5, windowMs: 60_000, detail: 'exited: code 1' };
  expect(blocks()).toEqual([block]);
  await advance(600_000);
  expect(starter.guests.length).toBe(5);

  const next = open();
  next.declare(planOf(SENSES, ['a']), kept);
  expect(next.view(SENSES)).toMatchObject({ state: 'blocked', blockReason: 'exited: code 1' });
  expect(warnings.length).toBe(1);
  expect([await runtime.reset(SENSES), await runtime.reset('senses.other')]).toEqual([true, false]);
  expect(blocks()).toEqual([block, { key: SENSES }]);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'idle', crashes: 0 });
  expect(await compute(SENSES, 'a')).toEqual(answered);
});

test('work that waits for a worker fails when its key is blocked', async () => {
  const { runtime, compute, advance, warnings } = openRuntime({ script: (guest) => guest.end() });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const outcome = compute(SENSES, 'a');
  for (let second = 0; second < 6; second += 1) await advance(1000);
  expect((await outcome).failure?.kind).toBe('crashed');
  const said =
    'senses.ci is blocked (exited: code 1). So that it works again: caisson residents reset senses.ci';
  expect([runtime.view(SENSES)?.state, warnings]).toEqual(['blocked', [said]]);
});

test('a worker that is not ready in time is ended from outside, also if it prints', async () => {
  const { runtime, starter, compute, advance } = openRuntime({ script: () => undefined });
  runtime.declare(planOf(SENSES, ['a']), kept);
  void compute(SENSES, 'a');
  for (let beat = 0; beat < 6; beat += 1) {
    await advance(5000);
    starter.newest().say({ kind: 'logged', name: 'a', text: 'still loading' });
  }
  expect(runtime.view(SENSES)?.state).toBe('starting');
  await advance(5000);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'waiting', lastEnding: { why: 'not-ready' } });
});

test('a worker without a line for three beats is ended from outside; one that lives is not', async () => {
  const { runtime, starter, compute, advance } = openRuntime();
  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  for (let beat = 0; beat < 10; beat += 1) {
    await advance(5000);
    starter.newest().say({ kind: 'beat', memoryBytes: 4096 });
  }
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', memoryBytes: 4096 });
  await advance(10_000);
  expect(runtime.view(SENSES)?.state).toBe('ready');
  await advance(5000);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'waiting', lastEnding: { why: 'unresponsive' } });
});

test('a worker that lives and does not answer in time is ended, and the compute is repeated', async () => {
  const { runtime, starter, compute, advance } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(SENSES, ['a']), kept);
  void compute(SENSES, 'a');
  await settle();
  for (let beat = 0; beat < 9; beat += 1) {
    await advance(5000);
    starter.newest().say({ kind: 'beat', memoryBytes: 1 });
  }
  await advance(1000);
  expect(runtime.view(SENSES)?.lastEnding).toMatchObject({
    why: 'unresponsive',
    detail: 'it gave no answer in time',
  });
  expect(starter.guests.length).toBe(2);
});

test('a file that cannot be loaded gets no work, and the others of its group do', async () => {
  const { runtime, compute } = openRuntime({
    script(guest) {
      guest.answer = (order) => void (order.kind === 'compute' && guest.computed(order.id));
      guest.ready({ a: 'Unexpected token' });
    },
  });
  runtime.declare(planOf(SENSES, ['a', 'b']), kept);
  expect(await compute(SENSES, 'b')).toEqual(answered);
  expect((await compute(SENSES, 'a')).failure).toEqual({ kind: 'invalid', detail: 'Unexpected token' });
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', problems: { a: 'Unexpected token' } });
});

test('a key of which no file can be loaded has no worker until it changes or is reset', async () => {
  const { runtime, starter, warnings, turn } = openRuntime({
    script: (guest) => guest.ready({ fix: 'no export' }),
  });
  runtime.declare(planOf(FLOW, ['fix']), onDemand);
  const failed = { kind: 'failed', failure: { kind: 'crashed', detail: 'fix: no export' } };
  expect(await turn(FLOW).outcome).toEqual(failed);
  await settle();
  expect(runtime.view(FLOW)).toMatchObject({
    state: 'unloadable',
    crashes: 0,
    problems: { fix: 'no export' },
  });
  expect(await turn(FLOW).outcome).toEqual(failed);
  expect(starter.guests.map(({ isOver }) => isOver)).toEqual([true]);
  runtime.declare(planOf(FLOW, ['fix'], 'two'), onDemand);
  expect(runtime.view(FLOW)?.state).toBe('starting');
  await settle();
  expect([runtime.view(FLOW)?.state, starter.guests.length]).toEqual(['unloadable', 2]);
  expect(warnings).toEqual(
    ['workflow.fix', 'workflow.fix'].map((key) => `${key} cannot work: fix: no export${TRIED_AGAIN}`),
  );
  expect(await runtime.reset(FLOW)).toBe(true);
  expect(runtime.view(FLOW)?.state).toBe('idle');
});

test('a workflow without a worker is tried when its file changes, once it has worked; it says what is wrong', async () => {
  let problems = {};
  const { runtime, starter, warnings, turn, advance } = openRuntime({
    script(guest) {
      guest.answer = (order) =>
        void (order.kind === 'turn' && guest.say({ kind: 'turned', id: order.id, outcome: { kind: 'end' } }));
      guest.ready(problems);
    },
  });
  const save = async (digest: string): Promise<void> => {
    runtime.declare(planOf(FLOW, ['fix'], digest), onDemand);
    await settle();
  };
  await save('one');
  await save('two');
  expect(starter.guests.length).toBe(0); // RE6
  expect(await turn(FLOW).outcome).toEqual({ kind: 'end' });
  await runtime.evict(FLOW);
  problems = { fix: 'Unexpected token' };
  await save('three');
  expect(runtime.view(FLOW)).toMatchObject({ state: 'unloadable', problems });
  expect(warnings).toEqual([`${FLOW} cannot work: fix: Unexpected token${TRIED_AGAIN}`]);
  problems = {};
  await save('four');
  expect(await turn(FLOW).outcome).toEqual({ kind: 'end' });
  for (let beat = 0; beat < 3; beat += 1) {
    await advance(5000);
    starter.newest().say({ kind: 'beat', memoryBytes: 1 });
  }
  expect(runtime.view(FLOW)).toMatchObject({ state: 'idle', starts: 3 });
});

test('a worker that is drained finishes its work, and what came meanwhile goes to the next one', async () => {
  const { runtime, starter, compute } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(SENSES, ['a', 'b']), kept);
  const first = compute(SENSES, 'a');
  await settle();
  const drained = runtime.drain(SENSES);
  const second = compute(SENSES, 'b');
  await settle();
  expect(runtime.view(SENSES)).toMatchObject({ state: 'draining', underWay: 2 });
  const [old] = starter.guests;
  old?.computed(idsOf(old)[0] ?? '');
  await drained;
  expect(await first).toEqual(answered);
  await settle();
  starter.newest().computed(idsOf(starter.newest())[0] ?? '');
  expect(await second).toEqual(answered);
  expect(runtime.view(SENSES)).toMatchObject({ crashes: 0, starts: 2 });
});

test('a worker that was evicted starts again with the next work, and not before', async () => {
  const { runtime, starter, compute, advance } = openRuntime();
  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  await runtime.evict(SENSES);
  await advance(100_000);
  expect([runtime.view(SENSES)?.state, starter.guests.length]).toEqual(['idle', 1]);
  expect(await compute(SENSES, 'a')).toEqual(answered);
});

test('a worker that is evicted with a turn under way ends at once, and the turn fails as crashed', async () => {
  const { runtime, starter, turn } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(FLOW, ['fix']), onDemand);
  const { outcome } = turn(FLOW);
  await settle();
  await runtime.evict(FLOW);
  expect(await outcome).toEqual({ kind: 'interrupted' });
  expect(runtime.view(FLOW)).toMatchObject({ state: 'idle', crashes: 0 });
  expect(starter.guests.length).toBe(1);
});

test('a worker of a workflow is gone after ten seconds without a turn', async () => {
  const { runtime, starter, turn, advance } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(FLOW, ['fix']), onDemand);
  const { outcome } = turn(FLOW);
  await settle();
  const guest = starter.newest();
  const beat = async (): Promise<void> => {
    await advance(5000);
    guest.say({ kind: 'beat', memoryBytes: 1 });
  };
  for (let count = 0; count < 20; count += 1) await beat();
  expect(guest.isOver).toBe(false);
  guest.say({ kind: 'turned', id: idsOf(guest)[0] ?? '', outcome: { kind: 'end' } });
  expect(await outcome).toEqual({ kind: 'end' });
  await beat();
  await beat();
  expect(guest.isOver).toBe(false);
  await beat();
  expect([runtime.view(FLOW)?.state, runtime.view(FLOW)?.crashes]).toEqual(['idle', 0]);
});

test('steps of a turn get to their thread, and answers to the worker of that turn', async () => {
  const { runtime, starter, turn } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(FLOW, ['fix']), onDemand);
  const steps: unknown[] = [];
  const running = turn(FLOW, (step) => steps.push(step));
  await settle();
  const guest = starter.newest();
  const id = idsOf(guest)[0] ?? '';
  const step = { kind: 'step', id, ordinal: 0, request: { kind: 'sleep', ms: 5 } } as const;
  guest.say(step);
  running.answerStep(0, { ok: true, value: 7 });
  expect(steps).toEqual([step]);
  expect(guest.orders.at(-1)).toEqual({ kind: 'step-done', id, ordinal: 0, ok: true, value: 7 });
  guest.say({ kind: 'turned', id, outcome: { kind: 'end' } });
  await running.outcome;
  running.answerStep(1, { ok: true, value: 8 });
  running.abandon('too late');
  expect(guest.orders.length).toBe(2);
});

test('a turn that is given up before it was sent is not sent, and one that was sent is aborted', async () => {
  const { runtime, starter, turn, advance } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(FLOW, ['fix']), onDemand);
  const early = turn(FLOW);
  early.abandon('cancelled');
  expect(await early.outcome).toEqual({ kind: 'failed', failure: { kind: 'aborted', detail: 'cancelled' } });
  const running = turn(FLOW);
  await settle();
  running.abandon('cancelled');
  const id = idsOf(starter.newest())[0] ?? '';
  expect(starter.newest().orders.at(-1)).toEqual({ kind: 'abandon', id, why: 'cancelled', graceMs: 5000 });
  for (let beat = 0; beat < 3; beat += 1) {
    starter.newest().say({ kind: 'beat', memoryBytes: 1 });
    await advance(5000);
  }
  expect((await running.outcome).kind).toBe('failed');
  expect(starter.newest().isOver).toBe(true);
});

test('restart ends a worker now and starts the next one; its computes are repeated', async () => {
  const { runtime, starter, compute } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const outcome = compute(SENSES, 'a');
  await settle();
  expect(await runtime.restart(SENSES)).toBe(true);
  await settle();
  starter.newest().computed(idsOf(starter.newest())[0] ?? '');
  expect(await outcome).toEqual(answered);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', crashes: 0, starts: 2 });
  expect(await runtime.restart('senses.other')).toBe(false);
});

test('ends that its host wanted neither use up the one repeat of a compute nor forgive a crash', async () => {
  const { runtime, starter, compute, advance } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const outcome = compute(SENSES, 'a');
  await settle();
  for (const end of ['restart', 'crash', 'restart', 'restart']) {
    if (end === 'restart') await runtime.restart(SENSES);
    else starter.newest().end();
    await settle();
    if (end === 'crash') await advance(1000);
  }
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', crashes: 1, starts: 5, underWay: 1 });
  starter.newest().computed(idsOf(starter.newest())[0] ?? '');
  expect(await outcome).toEqual(answered);
});

test('a compute that its host interrupts again and again fails in the end', async () => {
  const { runtime, compute } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const outcome = compute(SENSES, 'a');
  await settle();
  for (let n = 0; n < 10; n += 1) {
    await runtime.restart(SENSES);
    await settle();
  }
  expect((await outcome).failure?.kind).toBe('crashed');
});

test('at a shutdown senses end at once, turns get the grace, and nothing is left', async () => {
  const { runtime, starter, compute, turn, clock, advance } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(SENSES, ['a']), kept);
  runtime.declare(planOf(FLOW, ['fix']), onDemand);
  runtime.declare(planOf('workflow.slow', ['slow']), onDemand);
  const computed = compute(SENSES, 'a');
  const turned = turn(FLOW).outcome;
  const slow = turn('workflow.slow').outcome;
  await settle();
  const [sense, flow, stuck] = starter.guests;
  const stopped = runtime.shutdown({ graceMs: 10_000 });
  const again = runtime.shutdown({ graceMs: 10_000 });
  await settle();
  expect([sense?.isOver, flow?.isOver]).toEqual([true, false]);
  expect((await computed).failure?.kind).toBe('crashed');
  expect(flow?.orders.at(-1)).toEqual({ kind: 'stop', graceMs: 10_000 });
  flow?.say({ kind: 'turned', id: idsOf(flow)[0] ?? '', outcome: { kind: 'end' } });
  expect(await turned).toEqual({ kind: 'end' });
  await advance(10_000);
  expect(stuck?.isOver).toBe(false);
  await advance(500);
  await Promise.all([stopped, again]);
  expect((await slow).kind).toBe('interrupted');
  expect((await turn(FLOW).outcome).kind).toBe('failed');
  expect([starter.guests.length, clock.pendingTimers()]).toEqual([3, 0]);
});

test('a worker that is killed while it starts is ended as soon as there is one', async () => {
  const { runtime, starter, compute } = openRuntime({ script: () => undefined });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const outcome = compute(SENSES, 'a');
  await runtime.shutdown({ graceMs: 10_000 });
  expect((await outcome).failure?.kind).toBe('crashed');
  expect(starter.guests.map(({ isOver }) => isOver)).toEqual([true]);
});

test('a key that is withdrawn is forgotten when its worker is gone, and can come back before', async () => {
  const { runtime, compute } = openRuntime();
  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  const gone = runtime.withdraw(SENSES);
  expect((await compute(SENSES, 'a')).failure?.kind).toBe('invalid');
  await gone;
  expect(runtime.list()).toEqual([]);

  runtime.declare(planOf(SENSES, ['a']), kept);
  await compute(SENSES, 'a');
  const leaving = runtime.withdraw(SENSES);
  runtime.declare(planOf(SENSES, ['a']), kept);
  await leaving;
  expect(await compute(SENSES, 'a')).toEqual(answered);
});

test('a file that is still being loaded gets its work later, and keeps no other of its group waiting', async () => {
  const { runtime, starter, compute } = openRuntime({ script: () => undefined });
  runtime.declare(planOf(SENSES, ['a', 'slow', 'never']), kept);
  const outcomes = ['a', 'slow', 'never'].map((name) => compute(SENSES, name));
  await settle();
  const guest = starter.newest();
  const modules = [{ name: 'a' }, { name: 'slow', isLoading: true }, { name: 'never', isLoading: true }];
  guest.say({ kind: 'ready', modules });
  expect(guest.orders).toMatchObject([{ name: 'a' }]);
  expect(runtime.view(SENSES)).toMatchObject({ state: 'ready', underWay: 3 });
  guest.say({ kind: 'loaded', name: 'slow' });
  guest.say({ kind: 'loaded', name: 'never', problem: 'it did not load' });
  guest.say({ kind: 'loaded', name: 'a', problem: 'said too late' });
  expect(guest.orders).toMatchObject([{ name: 'a' }, { name: 'slow' }]);
  expect((await outcomes[2])?.failure).toEqual({ kind: 'invalid', detail: 'it did not load' });
  expect(runtime.view(SENSES)?.problems).toEqual({ never: 'it did not load' });
  for (const id of idsOf(guest)) guest.computed(id);
  expect(await Promise.all(outcomes.slice(0, 2))).toEqual([answered, answered]);
});

test('a changed version is judged when it is known of all its files whether they load', async () => {
  const modules = [{ name: 'a' }, { name: 'b', isLoading: true }];
  const { runtime, starter, compute, warnings } = openRuntime({
    script: (guest) => (guest.plan.digest === 'one' ? beGood(guest) : guest.say({ kind: 'ready', modules })),
  });
  runtime.declare(planOf(SENSES, ['a', 'b']), kept);
  await compute(SENSES, 'a');
  runtime.declare(planOf(SENSES, ['a', 'b'], 'next'), kept);
  await settle();
  expect(await compute(SENSES, 'a')).toEqual(answered);
  expect(starter.guests[0]?.isOver).toBe(false);
  starter.newest().say({ kind: 'loaded', name: 'b', problem: 'broken' });
  await settle();
  expect(warnings).toEqual([expect.stringContaining('the old version of senses.ci goes on: b: broken')]);
  expect([starter.guests[0]?.isOver, starter.newest().isOver]).toEqual([false, true]);
});

test('what a lost answer emitted is passed on for senses of the key alone, and forgotten when it is recorded', async () => {
  const { runtime, compute, undelivered, starter, advance } = openRuntime();
  runtime.declare(planOf('senses.g', ['a']), { isKept: true });
  await compute('senses.g', 'a');
  const guest = starter.newest();
  const emission = { computeId: 'a', signals: [{ name: 'red', payload: 1 }] };
  const origin = originOf(guest);
  guest.say({ kind: 'undelivered', name: 'a', ...emission, origin });
  guest.say({ kind: 'undelivered', name: 'other', ...emission, origin });
  expect(undelivered).toEqual([['a', { causes: [], ...emission }]]);
  runtime.delivered('senses.g', 'a', 'a');
  runtime.delivered('senses.g', 'a', 'b');
  await advance(50);
  expect(guest.orders.at(-1)).toEqual({ kind: 'delivered', name: 'a', computeIds: ['a', 'b'] });
});

test('a guest makes up neither a compute nor what led to one', async () => {
  const { runtime, undelivered, warnings, starter, open, advance } = openRuntime();
  const plan = planOf('senses.g', ['a', 'b']);
  runtime.declare(plan, { isKept: true });
  const causes = [{ signalId: 'signal_1', name: 'red', sense: 'a' }];
  const order = { name: 'a', computeId: 'c1', cause: { kind: 'user' }, causes } as const;
  await runtime.compute('senses.g', { ...order, timeoutMs: 1000, graceMs: 1000 });
  const origin = originOf(starter.newest());
  await runtime.shutdown({ graceMs: 0 });

  const next = open();
  next.declare(plan, { isKept: true });
  await next.compute('senses.g', { ...order, computeId: 'c2', timeoutMs: 1000, graceMs: 1000 });
  const guest = starter.newest();
  const signals = [{ name: 'red', payload: 1 }];
  const unsealed = origin.replace(/"causes":.*/, '"causes":[]}');
  for (const forged of [
    ...[{ origin: '' }, { origin: '[]' }, { origin: unsealed }, { origin, computeId: 'c9' }],
    { origin, name: 'b' },
  ])
    guest.say({ kind: 'undelivered', name: 'a', computeId: 'c1', signals, ...forged });
  expect(undelivered).toEqual([]);
  await advance(50);
  expect(guest.orders.at(-1)).toEqual({ kind: 'delivered', name: 'b', computeIds: ['c1'] });
  expect(warnings).toEqual(
    ['a', 'b'].map((name) => `${name}: signals of a compute that this project did not ask for were dropped`),
  );
  guest.say({ kind: 'undelivered', name: 'a', computeId: 'c1', signals, origin });
  expect(undelivered).toEqual([['a', { computeId: 'c1', causes, signals }]]);
});

/** What the host has sealed in the first compute of this guest. */
function originOf({ orders }: FakeGuest): string {
  return orders.flatMap((order) => (order.kind === 'compute' ? [order.origin] : []))[0] ?? '';
}

test('a start that hangs does not keep a shutdown, and what it makes later is ended at once', async () => {
  const { runtime, starter, compute, advance, clock } = openRuntime();
  const start = starter.start.bind(starter);
  const hanging = Promise.withResolvers<void>();
  starter.start = (plan) => hanging.promise.then(() => start(plan));
  runtime.declare(planOf(SENSES, ['a']), kept);
  const outcome = compute(SENSES, 'a');
  const stopped = runtime.shutdown({ graceMs: 0 });
  await advance(5000);
  await stopped;
  expect((await outcome).failure?.kind).toBe('crashed');
  hanging.resolve();
  await settle();
  expect(starter.newest().isOver).toBe(true);
  expect(clock.pendingTimers()).toBe(0);
});

test('a worker that is drained may use the whole time of its compute', async () => {
  const { runtime, starter, advance } = openRuntime({ script: onlyReady });
  runtime.declare(planOf(SENSES, ['a']), kept);
  const cause = { kind: 'user' } as const;
  const order = { name: 'a', computeId: 'compute_1', causes: [], cause, timeoutMs: 300_000, graceMs: 5000 };
  const outcome = runtime.compute(SENSES, order);
  await settle();
  const guest = starter.newest();
  const drained = runtime.drain(SENSES);
  for (let beat = 0; beat < 50; beat += 1) {
    guest.say({ kind: 'beat', memoryBytes: 1 });
    await advance(5000);
  }
  expect(guest.isOver).toBe(false);
  guest.computed(idsOf(guest)[0] ?? '');
  expect(await outcome).toEqual(answered);
  await drained;
});

test('a worker that does not read is ended when too many orders wait for it', async () => {
  const { runtime, starter, turn } = openRuntime({
    script(guest) {
      guest.send = () => new Promise(() => undefined);
      guest.ready();
    },
  });
  runtime.declare(planOf(FLOW, ['fix']), onDemand);
  for (let count = 0; count < 4096; count += 1) turn(FLOW);
  await settle();
  expect(starter.newest().isOver).toBe(false);
  turn(FLOW);
  await settle();
  expect(runtime.view(FLOW)?.lastEnding).toMatchObject({ why: 'unresponsive' });
});
