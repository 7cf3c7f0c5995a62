import { expect, it } from 'vitest';
import { createOpenOrders } from './open-orders.ts';

it('a line is logged with the name of a module, and for a thread while its turn is open', () => {
  const orders = createOpenOrders(['flow']);
  const log = (name: string): string | null => orders.settle({ kind: 'logged', name, text: '' });
  expect([log('flow'), log('other')]).toEqual([null, 'it logged with a name that is not its own']);
  expect(orders.isInTurn('thread_a')).toBe(false);
  const turn = { kind: 'turn', id: 't1', threadId: 'thread_a', round: 0, graceMs: 1 } as const;
  orders.add({ ...turn, trigger: { kind: 'user' }, payload: null, messages: [], steps: [] });
  expect([orders.isInTurn('thread_a'), orders.isInTurn('thread_b')]).toEqual([true, false]);
  orders.settle({ kind: 'turned', id: 't1', outcome: { kind: 'end' } });
  expect(orders.isInTurn('thread_a')).toBe(false);
});

it('a guest reports what was not delivered of its own senses, and no more than they can have between two computes', () => {
  const orders = createOpenOrders(['sense']);
  const report = (name: string): string | null =>
    orders.settle({ kind: 'undelivered', name, computeId: 'compute_1', origin: '', signals: [] });
  expect(report('other')).toBe('it emitted with a name that is not its own');
  const untilRefused = (): number => {
    let count = 0;
    while (report('sense') === null) count += 1;
    return count;
  };
  expect([untilRefused(), untilRefused()]).toEqual([768, 0]);
  const limits = { origin: '', timeoutMs: 1, graceMs: 1 };
  orders.add({ kind: 'compute', id: 'c', name: 'sense', computeId: 'c', cause: { kind: 'user' }, ...limits });
  expect(untilRefused()).toBe(768);
});

it('a guest reports signals that were not delivered up to so many bytes between two computes', () => {
  const orders = createOpenOrders(['sense']);
  const signals = Array.from({ length: 7 }, () => ({ name: 'x', payload: 'x'.repeat(64 * 1024 - 2) }));
  const line = { kind: 'undelivered', name: 'sense', computeId: 'compute_1', origin: '', signals } as const;
  let bytes = 0;
  while (orders.settle(line) === null) bytes += JSON.stringify(signals).length;
  expect(Math.round(bytes / 1024 ** 2)).toBe(51);
});

it('a file is loaded once, and only if it was not when the guest was ready', () => {
  const orders = createOpenOrders(['early', 'late']);
  const load = (name: string): string | null => orders.settle({ kind: 'loaded', name });
  const refused = 'it loaded a file that is not its own, or was loaded before';
  expect(load('late')).toBe(refused);
  const modules = [{ name: 'early' }, { name: 'late', isLoading: true }, { name: 'other', isLoading: true }];
  expect(orders.settle({ kind: 'ready', modules })).toBeNull();
  expect(['late', 'late', 'early', 'other'].map(load)).toEqual([null, refused, refused, refused]);
});

it('the own work of a step is reported once, and keeps its turn from being idle', () => {
  const orders = createOpenOrders(['flow']);
  const turn = { kind: 'turn', id: 't1', threadId: 'thread_a', round: 0, graceMs: 1 } as const;
  orders.add({ ...turn, trigger: { kind: 'user' }, payload: null, messages: [], steps: [] });
  const worked = (): string | null =>
    orders.settle({ kind: 'worked', id: 't1', ordinal: 1, ok: true, value: 1 });
  const never = 'it reported work of no step that is under way';
  expect(worked()).toBe(never);
  orders.settle({ kind: 'step', id: 't1', ordinal: 0, request: { kind: 'sleep', ms: 1 } });
  expect(orders.isIdle()).toBe(true);
  orders.settle({ kind: 'step', id: 't1', ordinal: 1, request: { kind: 'value', name: 'own' } });
  expect(orders.isIdle()).toBe(false);
  expect([worked(), worked(), orders.isIdle()]).toEqual([null, never, true]);
});
