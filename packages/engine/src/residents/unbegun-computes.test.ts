/** Computes that no worker begins: each is recorded as a drop, or goes to the group that serves its sense now. */
import { expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import type { FakeGuest } from './fixtures/fake-starter.ts';
import { COMPUTE_MS, openResidents, senseIn } from './fixtures/open-residents.ts';
import { settle } from './fixtures/open-runtime.ts';

const onRed = { on: [{ kind: 'signal', name: 'red' }] } as const;
const onError = { on: [{ kind: 'runs', statuses: ['error'] }] } as const;

const namesOf = (guest: FakeGuest | undefined): string[] =>
  (guest?.orders ?? []).flatMap((order) => (order.kind === 'compute' ? [order.name] : []));

test('a signal, and the ending of a run, for the one broken file of a group are recorded as drops', async () => {
  const { residents, advance, ledger, recorder } = await openResidents({
    script(guest, after) {
      guest.answer = (order) => {
        if (order.kind !== 'compute') return;
        const signals = order.name === 'a' ? [{ name: 'red', payload: 1 }] : [];
        after(COMPUTE_MS, () => guest.computed(order.id, signals));
      };
      guest.ready({ b: 'Unexpected token' });
    },
    senses: (root) => [
      senseIn(root, 'a'),
      senseIn(root, 'b', { on: [...onRed.on, ...onError.on] }),
      senseIn(root, 'c', onRed),
    ],
  });
  const outcome = residents.trigger('a');
  await settle();
  await advance(50);
  await advance(COMPUTE_MS);
  await outcome;
  const record = recorder.of('run_00000000000000000001');
  await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
  await record.append('dispatch.failed', SAMPLE_DATA['dispatch.failed'], { attempt: 1 });
  const drops = () => ledger.read({ types: ['signal.dropped'] }).map(({ data }) => data);
  for (let turns = 0; turns < 1000 && drops().length < 2; turns += 1) {
    await recorder.flush();
    await settle();
  }
  expect(drops()).toEqual([
    { name: 'red', sense: 'a', why: 'blocked', listener: 'sense.b', count: 1, causes: [] },
    {
      name: 'error',
      endedRun: 'run_00000000000000000001',
      why: 'blocked',
      listener: 'sense.b',
      count: 1,
      causes: [],
    },
  ]);
});

test('each ending of a run that no sense can take is a drop of its own', async () => {
  const { residents, advance, ledger, recorder, starter } = await openResidents({
    script: (guest) => guest.ready({ a: 'Unexpected token' }),
    senses: (root) => [senseIn(root, 'a', onError)],
  });
  const runs = [1, 2, 3].map((each) => `run_0000000000000000000${each}`);
  for (const runId of runs) {
    const record = recorder.of(runId);
    await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
    await record.append('dispatch.failed', SAMPLE_DATA['dispatch.failed'], { attempt: 1 });
  }
  while (starter.guests.length === 0) await settle();
  await advance(50);
  await advance(COMPUTE_MS);
  await residents.stop();
  await recorder.flush();
  const drops = ledger.read({ types: ['signal.dropped'] }).map(({ data }) => [data.endedRun, data.count]);
  expect(drops).toEqual(runs.map((runId) => [runId, 1]));
});

test('a sense that is moved to another group takes its compute along while the worker of the old one starts', async () => {
  const { residents, root, settings, starter, advance } = await openResidents({
    senses: (folder) => [senseIn(folder, 'a', { group: 'one' })],
  });
  const outcome = residents.trigger('a');
  await settle();
  settings.now = { senses: [senseIn(root, 'a', { group: 'two' })], workflows: [] };
  await residents.reload();
  await settle();
  await advance(50);
  await advance(COMPUTE_MS);
  expect(await outcome).toEqual({ durationMs: 1, signals: [] });
  expect(starter.guests.map((guest) => [guest.plan.key, namesOf(guest)])).toEqual([
    ['senses.one', []],
    ['senses.two', ['a']],
  ]);
});

test('a compute of a moved sense whose old worker dies is made in the new group', async () => {
  const { residents, root, settings, starter, advance } = await openResidents({
    senses: (folder) => [senseIn(folder, 'a', { group: 'one' })],
  });
  const outcome = residents.trigger('a');
  await settle();
  await advance(50);
  expect(namesOf(starter.newest())).toEqual(['a']);
  settings.now = { senses: [senseIn(root, 'a', { group: 'two' })], workflows: [] };
  await residents.reload();
  starter.newest().end({ why: 'signal', detail: 'SIGKILL' });
  await settle();
  await advance(50);
  await advance(COMPUTE_MS);
  expect(await outcome).toEqual({ durationMs: 1, signals: [] });
  expect(starter.newest().plan.key).toBe('senses.two');
});

test('a sense that joins a group computes in the worker that has its file, also when the old one has work', async () => {
  const { residents, root, settings, starter, advance } = await openResidents({
    senses: (folder) => [senseIn(folder, 'a', { group: 'one' }), senseIn(folder, 'b', { group: 'two' })],
  });
  const first = residents.trigger('b');
  await settle();
  await advance(50);
  await advance(COMPUTE_MS);
  await first;
  const outcome = residents.trigger('a');
  await settle();
  settings.now = {
    senses: ['a', 'b'].map((name) => senseIn(root, name, { group: 'two' })),
    workflows: [],
  };
  await residents.reload();
  await settle();
  await advance(50);
  await advance(COMPUTE_MS);
  expect(await outcome).toEqual({ durationMs: 1, signals: [] });
  const served = starter.guests.map(({ plan }) => [plan.key, plan.modules.length]);
  expect(served).toEqual([
    ['senses.two', 1],
    ['senses.one', 1],
    ['senses.two', 2],
  ]);
  expect(starter.guests.map(namesOf)).toEqual([['b'], [], ['a']]);
});

test('a sense that joins a group in a version that does not load drops its signals, and says so', async () => {
  const { residents, root, settings, advance, ledger, recorder } = await openResidents({
    script(guest, after) {
      guest.answer = (order) =>
        order.kind === 'compute' &&
        after(COMPUTE_MS, () => guest.computed(order.id, [{ name: 'red', payload: 1 }]));
      guest.ready(guest.plan.modules.length === 2 ? { a: 'Unexpected token' } : {});
    },
    senses: (folder) => [senseIn(folder, 'a')],
  });
  const compute = async (): Promise<void> => {
    const outcome = residents.trigger('a');
    await settle();
    await advance(50);
    await advance(COMPUTE_MS);
    await outcome;
  };
  await compute();
  settings.now = { senses: [senseIn(root, 'a'), senseIn(root, 'b', onRed)], workflows: [] };
  await residents.reload();
  await compute();
  await advance(50);
  await recorder.flush();
  const dropped = ledger.read({ types: ['signal.dropped'] }).map(({ data }) => data);
  expect(dropped).toMatchObject([{ name: 'red', why: 'blocked', listener: 'sense.b' }]);
});
