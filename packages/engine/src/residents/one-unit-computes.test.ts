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

const undelivered = ({ lines }: Resident): ResidentLine[] =>
  lines.filter(({ kind }) => kind === 'undelivered');

it('a signal whose host dies before it is recorded is reported by the next guest, until it is delivered', async () => {
  const { starter, plan } = await openStarter();
  const once = plan('senses', { once: ONCE });
  const first = await startResident(starter, once);
  await first.next('ready');
  const causes = [{ signalId: 'signal_0', name: 'blue', sense: 'other' }];
  const order = { ...computeOrder('once'), computeId: 'compute_1', causes };
  await first.process.send(order);
  expect((await first.next('computed')).signals).toEqual([RED]);
  first.process.kill();
  await first.ended;

  const second = await startResident(starter, once);
  await second.next('ready');
  expect(undelivered(second)).toEqual([
    { kind: 'undelivered', name: 'once', computeId: 'compute_1', causes, signals: [RED] },
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
