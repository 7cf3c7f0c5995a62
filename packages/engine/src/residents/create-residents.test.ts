import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import type { SenseSettings } from './contract.ts';
import { createResidents } from './create-residents.ts';
import { createFakeThreads } from './fixtures/fake-threads.ts';
import { COMPUTE_MS, grant, openResidents as open, senseIn } from './fixtures/open-residents.ts';
import { settle } from './fixtures/open-runtime.ts';

test('reloads every 200 ms during 5,000 triggered computes lose none and double none', async () => {
  const { root, residents, starter, advance, names, reloaded, clock } = await open();
  const outcomes = await new Promise<unknown[]>((resolve, reject) => {
    const done: unknown[] = [];
    const trigger = async (name: string): Promise<void> => {
      for (let count = 0; count < 1250; count += 1) done.push(await residents.trigger(name));
    };
    void Promise.all(names.map(trigger)).then(() => resolve(done), reject);
    const drive = async (): Promise<void> => {
      for (let version = 1; done.length < 5000; version += 1) {
        writeFileSync(join(root, 'a.ts'), `export default ${version};`);
        await residents.reload();
        for (let step = 0; step < 20; step += 1) await advance(10);
      }
    };
    drive().catch(reject);
  });
  expect(outcomes).toEqual(Array(5000).fill({ durationMs: 1, signals: [] }));
  const sent = starter.guests.flatMap(({ orders }) => orders.filter(({ kind }) => kind === 'compute'));
  expect(sent.length).toBe(5000);
  expect(starter.guests.length).toBeGreaterThan(50);
  expect(starter.most.get('senses.ci')).toBe(2);
  expect(reloaded.length).toBeGreaterThan(50);
  expect(new Set(reloaded.flat())).toEqual(new Set(['senses.ci']));
  expect(residents.residents()).toMatchObject([{ crashes: 0, underWay: 0 }]);
  await residents.stop();
  await settle();
  expect(starter.guests.filter(({ isOver }) => !isOver)).toEqual([]);
  expect(clock.pendingTimers()).toBe(0);
});

test('a thousand declared senses cost under a megabyte, and no process', async () => {
  const { residents, settings, starter, root } = await open();
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const rest = { intervalMs: 3_600_000, file: join(root, 'a.ts') };
  const names = Array.from({ length: 1000 }, (_, index) => `sense${index}`);
  const senses = names.map((name) => senseIn(root, name, { ...rest, group: name }));
  const declare = async (all: readonly SenseSettings[]): Promise<number> => {
    settings.now = { senses: all, workflows: [] };
    await residents.reload();
    await settle();
    collect();
    return process.memoryUsage().heapUsed;
  };
  await declare(senses); // what is compiled and cached once does not count
  const before = await declare([]);
  expect((await declare(senses)) - before).toBeLessThan(1024 * 1024);
  expect([residents.residents().length, starter.guests]).toEqual([1000, []]);
});

test('a changed file is noticed, and a reload touches only the keys that it concerns', async () => {
  const { root, residents, starter, advance, settings, reloaded } = await open({
    senses: (folder) => [senseIn(folder, 'a', { group: 'one' }), senseIn(folder, 'b', { group: 'two' })],
  });
  for (const name of ['a', 'b']) {
    const outcome = residents.trigger(name);
    await settle();
    await advance(50);
    await advance(10);
    await outcome;
  }
  writeFileSync(join(root, 'b.ts'), 'export default 2;');
  while (reloaded.length === 0) {
    for (const guest of starter.guests) guest.say({ kind: 'beat', memoryBytes: 1 });
    await advance(50);
  }
  await advance(50);
  expect(reloaded).toEqual([['senses.two']]);
  expect(starter.guests.map(({ plan }) => plan.key)).toEqual(['senses.one', 'senses.two', 'senses.two']);
  settings.now = { ...settings.now, senses: settings.now.senses.slice(1) };
  expect(await residents.reload()).toEqual(['senses.one']);
  await settle();
  expect(residents.residents().map(({ key }) => key)).toEqual(['senses.two']);
  expect(await residents.reload()).toEqual([]);
});

test('settings that cannot be read change nothing, and the next reload works', async () => {
  const { residents, settings } = await open();
  const good = settings.now;
  Object.defineProperty(settings, 'now', {
    configurable: true,
    get() {
      throw new Error('bad yaml');
    },
  });
  await expect(residents.reload()).rejects.toThrow('bad yaml');
  expect(residents.senses().map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
  Object.defineProperty(settings, 'now', { value: good });
  expect(await residents.reload()).toEqual([]);
});

const fixIn = (root: string, on: readonly string[]) => ({
  ...{ name: 'fix', file: join(root, 'd.ts'), on },
  ...{ concurrency: 1, overflow: 'queue', grant },
});

test('a signal of a sense starts a thread of the workflow that listens, once, and the next daemon starts no other', async () => {
  const { residents, threads, advance, settings, root, options } = await open({
    script(guest, after) {
      guest.answer = (order) => {
        if (order.kind !== 'compute') return;
        after(COMPUTE_MS, () => guest.computed(order.id, [{ name: 'red', payload: 3 }]));
      };
      guest.ready();
    },
  });
  const flow = fixIn(root, ['red']);
  settings.now = { ...settings.now, workflows: [flow] };
  expect(await residents.reload()).toEqual(['workflow.fix']);
  const outcome = residents.trigger('a');
  await settle();
  await advance(50);
  await advance(10);
  expect((await outcome).signals).toEqual([{ name: 'red', payload: 3 }]);
  await settle();
  expect(threads.started).toMatchObject([{ workflow: 'fix', payload: 3, causes: [] }]);
  expect(residents.workflows()).toEqual([
    {
      ...{ name: 'fix', file: flow.file, state: 'idle', on: ['red'] },
      ...{ concurrency: 1, overflow: 'queue', active: 0, queued: 0 },
    },
  ]);
  await residents.stop();
  const next = await createResidents(options);
  await settle();
  expect(threads.started.length).toBe(1);
  expect(threads.recovered).toEqual([undefined, 'fix', undefined]);
  await next.stop();
});

test('a signal that a daemon left is delivered by the next one, also when a sense emits while that one still starts', async () => {
  let emitted = 0;
  const { residents, threads, advance, settings, root, options, ledger } = await open({
    script(guest, after) {
      guest.answer = (order) => {
        if (order.kind !== 'compute') return;
        after(COMPUTE_MS, () => guest.computed(order.id, [{ name: 'red', payload: (emitted += 1) }]));
      };
      guest.ready();
    },
  });
  const flow = fixIn(root, ['red']);
  settings.now = { senses: [senseIn(root, 'a', { intervalMs: 1000 })], workflows: [flow] };
  await residents.reload();
  threads.next = new Error('the ledger is locked');
  const recorded = (): number => ledger.read({ runId: null, types: ['signal.emitted'] }).length;
  while (recorded() === 0) await advance(COMPUTE_MS);
  await residents.stop();
  expect([emitted, threads.started]).toEqual([1, []]);
  const recovery = Promise.withResolvers<void>();
  const slow = { ...threads, recoverThreadsForWorker: () => recovery.promise };
  const starting = createResidents({ ...options, openThreads: () => slow });
  while (recorded() === 1) await advance(COMPUTE_MS);
  await settle();
  recovery.resolve();
  const next = await starting;
  await settle();
  expect(threads.started.map(({ payload }) => payload)).toEqual([1, 2]);
  await next.stop();
});

test('the ending of a run computes the senses that listen for its status', async () => {
  const { recorder, starter, advance } = await open({
    senses: (root) => [
      senseIn(root, 'a', { on: [{ kind: 'runs', statuses: ['done'] }] }),
      senseIn(root, 'b', { on: [{ kind: 'runs', statuses: ['error'] }] }),
    ],
  });
  const record = recorder.of('run_00000000000000000001');
  await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
  await record.append('dispatch.finished', SAMPLE_DATA['dispatch.finished'], { attempt: 1 });
  while (starter.guests.length === 0) await settle();
  await advance(50);
  expect(starter.newest().orders).toMatchObject([
    { kind: 'compute', name: 'a', cause: { kind: 'run', runId: 'run_00000000000000000001', status: 'done' } },
  ]);
});

const onDone = (root: string, name: string): SenseSettings =>
  senseIn(root, name, { group: name, on: [{ kind: 'runs', statuses: ['done'] }] });

/** A run that is done, and which of them each sense computed for. */
function watchRuns({ recorder, starter }: Pick<Awaited<ReturnType<typeof open>>, 'recorder' | 'starter'>) {
  return {
    async endRun(runId: string): Promise<void> {
      const record = recorder.of(runId);
      await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
      await record.append('dispatch.finished', SAMPLE_DATA['dispatch.finished'], { attempt: 1 });
    },
    computed: (): string[] =>
      starter.guests.flatMap(({ orders }) =>
        orders.flatMap((order) =>
          order.kind === 'compute' && order.cause.kind === 'run'
            ? [`${order.name} ${order.cause.runId}`]
            : [],
        ),
      ),
  };
}

test('a sense gets the endings of runs from its declaration on, also those without a daemon, and no older ones', async () => {
  const stage = await open({ senses: (folder) => [onDone(folder, 'a')] });
  const { residents, starter, advance, settings, options, root } = stage;
  const { endRun, computed } = watchRuns(stage);
  await residents.stop();
  const [missed, next] = ['run_00000000000000000001', 'run_00000000000000000002'] as const;
  await endRun(missed);
  settings.now = { senses: [onDone(root, 'a'), onDone(root, 'b')], workflows: [] };
  const later = await createResidents(options);
  while (starter.guests.length === 0) await settle();
  await advance(50);
  await advance(COMPUTE_MS);
  await endRun(next);
  while (computed().length < 3) await advance(50);
  expect(computed().toSorted()).toEqual([`a ${missed}`, `a ${next}`, `b ${next}`]);
  await later.stop();
});

test('an ending that a daemon of an earlier version, which kept no listeners, did not see is not lost', async () => {
  const stage = await open({ senses: (folder) => [onDone(folder, 'a')] });
  const { residents, advance, options, ledger, settings, root } = stage;
  const { endRun, computed } = watchRuns(stage);
  await residents.stop();
  for (const { key } of ledger.kv.list('resident-run-listeners'))
    ledger.kv.delete('resident-run-listeners', key);
  const [missed, next] = ['run_00000000000000000001', 'run_00000000000000000002'] as const;
  await endRun(missed);
  const later = await createResidents(options);
  for (let turns = 0; turns < 100 && computed().length === 0; turns += 1) await advance(50);
  expect(computed()).toEqual([`a ${missed}`]);
  await advance(COMPUTE_MS);
  await later.stop();
  settings.now = { senses: [], workflows: [] };
  await (await createResidents(options)).stop(); // what listens to nothing is kept, too
  await endRun(next);
  settings.now = { senses: [onDone(root, 'b')], workflows: [] };
  const last = await createResidents(options);
  for (let turns = 0; turns < 20; turns += 1) await advance(50);
  expect(computed()).toEqual([`a ${missed}`]);
  await last.stop();
});

test('a signal that leads to a run whose ending leads to the signal again is a loop', async () => {
  const threadId = 'thread_00000000000000000001';
  const { recorder, starter, advance, ledger } = await open({
    script(guest) {
      guest.answer = (order) =>
        order.kind === 'compute' && guest.computed(order.id, [{ name: 'red', payload: 1 }]);
      guest.ready();
    },
    senses: (root) => [
      senseIn(root, 'a', { on: [{ kind: 'runs', statuses: ['done'] }] }),
      senseIn(root, 'b', { on: [{ kind: 'signal', name: 'red' }] }),
    ],
  });
  const trigger = { kind: 'signal', name: 'red', signalId: 'signal_1', sense: 'a' } as const;
  await recorder
    .of(threadId)
    .append('thread.accepted', { ...SAMPLE_DATA['thread.accepted'], trigger, causes: [] }, { attempt: 0 });
  const record = recorder.of('run_00000000000000000001');
  const accepted = { ...SAMPLE_DATA['dispatch.accepted'], session: threadId };
  await record.append('dispatch.accepted', accepted, { attempt: 0 });
  await record.append('dispatch.finished', SAMPLE_DATA['dispatch.finished'], { attempt: 1 });
  while (starter.guests.length === 0) await settle();
  await advance(50);
  await recorder.flush();
  expect(ledger.read({ types: ['signal.emitted', 'signal.dropped'] }).map(({ data }) => data)).toMatchObject([
    { name: 'red', sense: 'a', why: 'loop', causes: [{ signalId: 'signal_1', name: 'red', sense: 'a' }] },
  ]);
});

test('a file that a sense waits for starts a compute with its path', async () => {
  const { root, starter, advance } = await open({
    senses: (folder) => [senseIn(folder, 'a', { on: [{ kind: 'files', pattern: 'results.json' }] })],
  });
  writeFileSync(join(root, 'results.json'), '{}');
  while (starter.guests.length === 0) await advance(50);
  await advance(50);
  expect(starter.newest().orders).toMatchObject([
    { kind: 'compute', name: 'a', cause: { kind: 'files', paths: ['results.json'] } },
  ]);
});

test('a workflow that came, changed, was restarted or reset goes on with its threads', async () => {
  const { residents, threads, settings, root } = await open();
  const flow = fixIn(root, []);
  settings.now = { senses: [], workflows: [flow] };
  await residents.reload();
  expect(threads.recovered.splice(0)).toEqual([undefined, 'fix']);
  settings.now = { senses: [], workflows: [{ ...flow, concurrency: 2 }] };
  await residents.reload();
  expect(threads.recovered.splice(0)).toEqual(['fix']);
  writeFileSync(flow.file, 'export default 2;');
  await residents.reload();
  expect(threads.recovered.splice(0)).toEqual(['fix']);
  await residents.restart('workflow.fix');
  await residents.reset('workflow.fix');
  expect(threads.recovered).toEqual(['fix', 'fix']);
});

test('residents that cannot be opened leave nothing behind', async () => {
  const { options, clock, residents, settings, root, starter } = await open();
  await residents.stop();
  const before = clock.pendingTimers();
  settings.now = {
    senses: [senseIn(root, 'a', { intervalMs: 1000, on: [{ kind: 'files', pattern: 'x' }] })],
    workflows: [],
  };
  const threads = {
    ...createFakeThreads(),
    recoverThreadsForWorker: () => Promise.reject(new Error('locked')),
  };
  await expect(createResidents({ ...options, openThreads: () => threads })).rejects.toThrow('locked');
  expect(clock.pendingTimers()).toBe(before);
  clock.advance(10_000);
  await settle();
  expect(starter.guests).toEqual([]);
});

test('after a stop nothing begins, and a second stop is the same', async () => {
  const { residents, starter, clock } = await open({
    senses: (root) => [senseIn(root, 'a', { intervalMs: 1000 })],
  });
  await Promise.all([residents.stop(), residents.stop()]);
  expect((await residents.trigger('a')).failure?.kind).toBe('aborted');
  clock.advance(10_000);
  expect([starter.guests.length, await residents.reload()]).toEqual([0, []]);
});
