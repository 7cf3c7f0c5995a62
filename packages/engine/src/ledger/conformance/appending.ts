import { describe, expect, test } from 'vitest';
import { EventIdConflictError, InvalidEventError, SequenceConflictError } from '../errors.ts';
import { hashEvent, toChainEvent, ZERO_HASH } from '../event-record.ts';
import { fact, started } from '../fixtures/sample-events.ts';
import { useLedger, type LedgerAtHand, type OpenLedger } from './open-ledger.ts';

export function describeAppending(open: OpenLedger): void {
  describe('append and read', () => {
    const at = useLedger(open);
    describeReading(at);
    describeRepeating(at);
    describeRefusing(at);
  });
}

function describeReading(at: LedgerAtHand): void {
  test('numbers each run from 1 and everything together from 1', async () => {
    await at.ledger.append([fact('run_a'), fact('run_b'), fact('run_a'), fact(null)]);
    const all = at.ledger.read();
    expect(all.map(({ offset, runId, seq }) => [offset, runId, seq])).toEqual([
      [1, 'run_a', 1],
      [2, 'run_b', 1],
      [3, 'run_a', 2],
      [4, null, 1],
    ]);
    expect(at.ledger.lastOffset()).toBe(4);
  });

  test('returns exactly what a later read returns', async () => {
    const stored = await at.ledger.append([
      fact('run_a', {
        text: 'ü\u2028\u0000𝕏\ud800',
        deep: { b: [1, null, 1.5e300], a: undefined },
        __proto__x: 1,
      }),
    ]);
    expect(at.ledger.read()).toEqual(stored);
    expect(stored[0]?.data).toEqual({
      text: 'ü\u2028\u0000𝕏\ud800',
      deep: { b: [1, null, 1.5e300] },
      __proto__x: 1,
    });
  });

  test('chains the events of a run by hashes that anyone can recompute', async () => {
    await at.ledger.append([fact('run_a', { z: 1, a: 2 }), fact('run_b'), fact('run_a')]);
    const [first, second] = at.ledger.read({ runId: 'run_a' });
    expect(first?.prevHash).toBe(ZERO_HASH);
    expect(second?.prevHash).toBe(first?.hash);
    expect(at.ledger.read().every((event) => hashEvent(toChainEvent(event)) === event.hash)).toBe(true);
  });

  test('replays from any cursor, limits and filters', async () => {
    await at.ledger.append([
      fact('run_a'),
      { ...fact('run_a', { source: 's', message: 'm' }), type: 'warning' },
      fact('run_b'),
      fact('run_a'),
    ]);
    expect(at.ledger.read({ runId: 'run_a', after: 1 }).map((event) => event.seq)).toEqual([2, 3]);
    expect(at.ledger.read({ after: 2, limit: 1 }).map((event) => event.offset)).toEqual([3]);
    expect(at.ledger.read({ types: ['warning'] }).map((event) => event.offset)).toEqual([2]);
    expect(at.ledger.read({ runId: 'run_a', after: 99 })).toEqual([]);
    expect(at.ledger.read({ runId: null })).toEqual([]);
    expect(at.ledger.read({ limit: 0 })).toEqual([]);
  });

  test('appending nothing records nothing', async () => {
    expect(await at.ledger.append([])).toEqual([]);
    expect(at.ledger.lastOffset()).toBe(0);
  });
}

function describeRepeating(at: LedgerAtHand): void {
  test('an id that is already there is answered with what was stored', async () => {
    const [first] = await at.ledger.append([{ ...fact('run_a'), id: 'evt_1' }]);
    const again = await at.ledger.append([
      { ...fact('run_a'), id: 'evt_1', at: '2030-01-01T00:00:00.000Z' },
      fact('run_a'),
    ]);
    expect(again[0]).toEqual(first);
    expect(at.ledger.read().length).toBe(2);
  });

  test('an id that stands twice in one call is recorded once', async () => {
    const [first, second] = await at.ledger.append([
      { ...fact('run_a'), id: 'evt_1' },
      { ...fact('run_a'), id: 'evt_1' },
    ]);
    expect(first).toEqual(second);
    expect(at.ledger.lastOffset()).toBe(1);
  });

  test('an id with other content is refused and nothing of the call is recorded', async () => {
    await at.ledger.append([{ ...fact('run_a'), id: 'evt_1' }]);
    const call = at.ledger.append([fact('run_b'), { ...fact('run_a', { other: true }), id: 'evt_1' }]);
    await expect(call).rejects.toThrow(EventIdConflictError);
    expect(at.ledger.lastOffset()).toBe(1);
  });

  test('an expected sequence that has passed is refused, and a repeated call is not', async () => {
    const event = { ...fact('run_a'), id: 'evt_1' };
    await at.ledger.append([event], { expectedSeq: 0 });
    await expect(at.ledger.append([fact('run_a')], { expectedSeq: 0 })).rejects.toThrow(
      SequenceConflictError,
    );
    expect(await at.ledger.append([event], { expectedSeq: 0 })).toEqual(at.ledger.read());
    await expect(at.ledger.append([fact('run_a'), fact('run_b')], { expectedSeq: 1 })).rejects.toThrow(
      InvalidEventError,
    );
  });

  test('of many calls that expect the same sequence exactly one is recorded', async () => {
    const calls = Array.from({ length: 10 }, (_, index) =>
      at.ledger.append([fact('run_a', { index })], { expectedSeq: 0 }),
    );
    const settled = await Promise.allSettled(calls);
    expect(settled.filter((call) => call.status === 'fulfilled').length).toBe(1);
    expect(at.ledger.lastOffset()).toBe(1);
  });

  test('a refused call does not touch the calls beside it', async () => {
    const settled = await Promise.allSettled([
      at.ledger.append([fact('run_a', { call: 1 })]),
      at.ledger.append([fact('run_a', { call: 2 }), started('run_a')]),
      at.ledger.append([fact('run_a', { call: 3 })]),
    ]);
    expect(settled.map((call) => call.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(at.ledger.read().map((event) => event.data)).toEqual([{ call: 1 }, { call: 3 }]);
    expect(at.ledger.verifyAll().ok).toBe(true);
  });
}

function describeRefusing(at: LedgerAtHand): void {
  test.each([
    ['a number that JSON lacks', { data: { cost: Number.NaN } }],
    ['a function', { data: { call: () => 1 } }],
    ['a big integer', { data: { count: 1n } }],
    ['a circle', { data: circle() }],
    ['data that is a list', { data: [] as unknown as Record<string, unknown> }],
    ['data beyond the cap', { data: { text: 'x'.repeat(5 * 1024 * 1024) } }],
    ['an empty type', { type: '' }],
    ['an empty run', { runId: '' }],
    ['a lone surrogate in an id', { id: 'evt_\ud800' }],
    ['a control character in a trace', { trace: 'a\u0000b' }],
    ['a local time', { at: '2026-01-01T00:00:00+02:00' }],
    ['a negative attempt', { attempt: -1 }],
    ['half an attempt', { attempt: 0.5 }],
  ])('refuses %s', async (_what, part) => {
    await expect(at.ledger.append([{ ...fact('run_a'), ...part }])).rejects.toThrow(InvalidEventError);
    expect(at.ledger.lastOffset()).toBe(0);
  });

  test('a caller that changes its data afterwards changes nothing', async () => {
    const data = { list: [1] };
    const pending = at.ledger.append([fact('run_a', data)]);
    data.list.push(2);
    const [stored] = await pending;
    expect(stored?.data).toEqual({ list: [1] });
    Object.assign(stored?.data ?? {}, { list: [3] });
    expect(at.ledger.read()[0]?.data).toEqual({ list: [1] });
  });
}

function circle(): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}
