/** RE7 with real guests: what a compute changes and what it emits is one unit, and no death between the two loses either. */
import type { ResidentLine } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { computeOrder, openStarter, startResident, type Resident } from './fixtures/open-starter.ts';

const RED = { name: 'red', payload: 1 };
/** Emits once, however often it computes. */
const ONCE = `export default { compute({ state, emit }) {
  if (state.get('isRed')) return;
  state.set('isRed', true);
  emit('red', 1);
} };`;

const RED_EACH = `export default { compute({ state, emit }) { state.set('isRed', true); emit('red', 1); } };`;

const undelivered = ({ lines }: Resident): ResidentLine[] =>
  lines.filter(({ kind }) => kind === 'undelivered');

it('a signal whose host dies before it is recorded is reported by the next guest, until it is delivered', async () => {
  const { starter, plan } = await openStarter();
  const once = plan('senses', { once: ONCE });
  const first = await startResident(starter, once);
  await first.next('ready');
  const origin = 'sealed by the host';
  const order = { ...computeOrder('once'), computeId: 'compute_1', origin };
  await first.process.send(order);
  expect((await first.next('computed')).signals).toEqual([RED]);
  first.process.kill();
  await first.ended;

  const second = await startResident(starter, once);
  await second.next('ready');
  expect(undelivered(second)).toEqual([
    { kind: 'undelivered', name: 'once', computeId: 'compute_1', origin, signals: [RED] },
  ]);
  expect((await second.compute('once')).signals).toEqual([]);
  const repeated = { ...order, id: 'again' };
  await second.process.send(repeated);
  expect((await second.next('computed', ({ id }) => id === 'again')).signals).toEqual([RED]);
  await second.process.send({ kind: 'delivered', name: 'once', computeIds: ['compute_1'] });
  expect((await second.compute('once')).signals).toEqual([]); // it has read the order before this one
  second.process.kill();
  await second.ended;

  const third = await startResident(starter, once);
  await third.next('ready');
  expect(undelivered(third)).toEqual([]);
});

it.each([
  ['throws', 'throw new Error("late")', {}],
  ['ends its process', 'process.kill(process.pid, "SIGKILL"); for (;;);', {}],
  ['takes too long', 'await new Promise(() => setInterval(() => {}, 1000))', { timeoutMs: 200, graceMs: 50 }],
  ['stops too late', 'await new Promise((end) => signal.addEventListener("abort", end))', { timeoutMs: 200 }],
])('a compute that %s after it changed its state has changed and emitted nothing', async (_, how, limits) => {
  const { starter, plan } = await openStarter();
  const fails = `export default { async compute({ state, emit, signal }) {
    state.set('isRed', true);
    state.transaction(() => state.run('CREATE TABLE t (n INTEGER)'));
    emit('red', 1);
    ${how};
  } };`;
  const first = await startResident(starter, plan('senses', { fails }));
  await first.next('ready');
  await Promise.race([
    first.compute('fails', limits).then(({ failure }) => expect(failure).toBeDefined()),
    first.ended,
  ]);
  first.process.kill();
  await first.ended;
  const second = await startResident(starter, plan('senses', { fails: ONCE }));
  await second.next('ready');
  expect(undelivered(second)).toEqual([]);
  expect((await second.compute('fails')).signals).toEqual([RED]);
});

it('that its signals are recorded costs a sense nothing while another one of its group holds the database', async () => {
  const { starter, plan } = await openStarter();
  const emits = `export default { compute({ emit, cause }) { if (cause.kind === 'user') emit('red', 1); } };`;
  const holds = `export default { async compute({ state, signal, log }) {
    state.set('isHeld', true);
    log('held');
    await new Promise((end) => signal.addEventListener('abort', end));
  } };`;
  const group = plan('senses', { emits, holds });
  const first = await startResident(starter, group);
  const [one, two] = ['compute_1', 'compute_2'].map((computeId) => ({ ...computeOrder('emits'), computeId }));
  if (one === undefined || two === undefined) throw new Error('there are two');
  await first.process.send(one);
  await first.next('computed', ({ id }) => id === one.id);
  const holding = computeOrder('holds');
  await first.process.send(holding);
  await first.next('logged', ({ text }) => text === 'held');
  await first.process.send({ kind: 'delivered', name: 'emits', computeIds: ['compute_1'] });
  const looks = { ...computeOrder('emits', 4000), cause: { kind: 'interval' } } as const;
  await first.process.send(looks);
  expect(await first.next('computed', ({ id }) => id === looks.id)).not.toHaveProperty('failure');
  await first.process.send({ kind: 'abandon', id: holding.id, why: 'enough', graceMs: 5000 });
  await first.next('computed', ({ id }) => id === holding.id);
  await first.process.send(two);
  await first.next('computed', ({ id }) => id === two.id);
  await first.process.send({ kind: 'delivered', name: 'emits', computeIds: ['compute_2'] });
  await first.process.send({ ...looks, id: 'last', computeId: 'last' });
  await first.next('computed', ({ id }) => id === 'last'); // it has read the order before this one
  first.process.kill();
  await first.ended;
  const second = await startResident(starter, group);
  await second.problems(); // all are loaded
  expect(undelivered(second)).toEqual([]);
});

it('what a compute sets by a pragma is a part of it', async () => {
  const { starter, plan } = await openStarter();
  const pragma = `export default { compute({ state, emit, cause }) {
    const version = () => state.all('PRAGMA user_version')[0].user_version;
    emit('was', version());
    emit('columns', state.all('PRAGMA table_info(caisson_state)').length);
    state.run('PRAGMA user_version = 2');
    state.run('PRAGMA application_id(7)');
    emit('is', version());
    if (cause.kind === 'user') throw new Error('undo');
  } };`;
  const resident = await startResident(starter, plan('senses', { pragma }));
  expect((await resident.compute('pragma')).failure?.detail).toContain('undo');
  for (const was of [0, 2]) {
    const order = computeOrder('pragma');
    await resident.process.send({ ...order, cause: { kind: 'interval' } });
    expect((await resident.next('computed', ({ id }) => id === order.id)).signals).toEqual([
      { name: 'was', payload: was },
      { name: 'columns', payload: 2 },
      { name: 'is', payload: 2 },
    ]);
  }
});

it('a part that is undone alone leaves the rest of its compute', async () => {
  const { starter, plan } = await openStarter();
  const parts = `export default { compute({ state, emit }) {
    state.set('a', 1);
    try { state.transaction(() => { state.set('a', 2); throw new Error('undo'); }); } catch {}
    emit('a', state.get('a'));
    emit('changes', state.run('UPDATE caisson_state SET value = value').changes);
    try { state.run('COMMIT'); } catch (error) { emit('refused', error.message); }
  } };`;
  const resident = await startResident(starter, plan('senses', { parts }));
  expect((await resident.compute('parts')).signals).toEqual([
    { name: 'a', payload: 1 },
    { name: 'changes', payload: 1 },
    { name: 'refused', payload: 'a compute is one transaction: use state.transaction for a part of it' },
  ]);
});

it('a compute that only reads waits for nobody, and sees what others have finished', async () => {
  const { starter, plan } = await openStarter();
  const writes = `export default { async compute({ state, signal }) {
    state.set('n', 1);
    await new Promise((end) => signal.addEventListener('abort', end));
  } };`;
  const reads = `export default { compute({ state, log }) { log('n is', state.get('n')); } };`;
  const resident = await startResident(starter, plan('senses', { writes, reads }));
  await resident.compute('reads');
  const order = computeOrder('writes');
  await resident.process.send(order);
  const { failure, durationMs } = await resident.compute('reads');
  expect([failure, durationMs < 2000]).toEqual([undefined, true]);
  await resident.process.send({ kind: 'abandon', id: order.id, why: 'enough', graceMs: 1000 });
  expect((await resident.next('computed', ({ id }) => id === order.id)).failure?.kind).toBe('aborted');
  const said = resident.lines.flatMap((line) => (line.kind === 'logged' ? [line.text] : []));
  expect(said).toEqual(['n is undefined', 'n is undefined']);
});

/** Counts, and says nothing. */
const SILENT = `export default { compute({ state }) { state.set('n', (state.get('n') ?? 0) + 1); } };`;
const EMITS = `export default { compute({ state, emit }) { emit('n', state.get('n') ?? 0); } };`;

it('a compute whose answer was lost changes nothing a second time, although it emitted nothing', async () => {
  const { starter, plan } = await openStarter();
  const counts = plan('senses', { silent: SILENT, emits: EMITS });
  const first = await startResident(starter, counts);
  await first.next('ready');
  const order = { ...computeOrder('silent'), computeId: 'compute_1', covers: ['compute_0'] };
  await first.process.send(order);
  await first.next('computed');
  first.process.kill(); // as if its host had received nothing
  await first.ended;

  const second = await startResident(starter, counts);
  await second.next('ready');
  for (const [id, computeId] of [
    ['again', 'compute_1'],
    ['covered', 'compute_0'],
  ] as const) {
    await second.process.send({ ...order, id, computeId });
    expect(await second.next('computed', (line) => line.id === id)).toMatchObject({ signals: [] });
  }
  expect((await second.compute('emits')).signals).toEqual([{ name: 'n', payload: 1 }]);
  await second.compute('silent');
  expect((await second.compute('emits')).signals).toEqual([{ name: 'n', payload: 2 }]);
});

it('a compute that was delivered long ago is not made again when a later host asks for it', async () => {
  const { starter, plan } = await openStarter();
  const resident = await startResident(starter, plan('senses', { once: RED_EACH }));
  await resident.next('ready');
  const order = { ...computeOrder('once'), computeId: 'compute_1' };
  await resident.process.send(order);
  expect((await resident.next('computed')).signals).toEqual([RED]);
  await resident.process.send({ kind: 'delivered', name: 'once', computeIds: ['compute_1'] });
  await resident.process.send({ ...order, id: 'again' });
  expect((await resident.next('computed', ({ id }) => id === 'again')).signals).toEqual([]);
});
