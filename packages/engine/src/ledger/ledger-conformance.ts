// What every ledger must do. An implementation runs it in one line; see memory-ledger.test.ts and sqlite/.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ledger, LedgerChange, StoredEvent } from './contract.ts';
import {
  EventIdConflictError,
  IdempotencyKeyTakenError,
  IllegalTransitionError,
  InvalidEventError,
  LedgerClosedError,
  SequenceConflictError,
} from './errors.ts';
import { hashEvent, ZERO_HASH } from './event-record.ts';
import { accepted, AT, fact, finished, launched, started } from './fixtures/sample-events.ts';

export function describeLedger(name: string, open: () => Ledger | Promise<Ledger>): void {
  describe(`${name} keeps the ledger's promises`, () => {
    let ledger: Ledger;
    beforeEach(async () => {
      ledger = await open();
    });
    afterEach(() => ledger.close());

    describe('append and read', () => {
      test('numbers each run from 1 and everything together from 1', async () => {
        await ledger.append([fact('run_a'), fact('run_b'), fact('run_a'), fact(null)]);
        const all = ledger.read();
        expect(all.map(({ offset, runId, seq }) => [offset, runId, seq])).toEqual([
          [1, 'run_a', 1],
          [2, 'run_b', 1],
          [3, 'run_a', 2],
          [4, null, 1],
        ]);
        expect(ledger.lastOffset()).toBe(4);
      });

      test('returns exactly what a later read returns', async () => {
        const stored = await ledger.append([
          fact('run_a', {
            text: 'ü\u2028\u0000𝕏\ud800',
            deep: { b: [1, null, 1.5e300], a: undefined },
            __proto__x: 1,
          }),
        ]);
        expect(ledger.read()).toEqual(stored);
        expect(stored[0]?.data).toEqual({
          text: 'ü\u2028\u0000𝕏\ud800',
          deep: { b: [1, null, 1.5e300] },
          __proto__x: 1,
        });
      });

      test('chains the events of a run by hashes that anyone can recompute', async () => {
        await ledger.append([fact('run_a', { z: 1, a: 2 }), fact('run_b'), fact('run_a')]);
        const [first, second] = ledger.read({ runId: 'run_a' });
        expect(first?.prevHash).toBe(ZERO_HASH);
        expect(second?.prevHash).toBe(first?.hash);
        expect(ledger.read().every((event) => hashEvent(event) === event.hash)).toBe(true);
      });

      test('replays from any cursor, limits and filters', async () => {
        await ledger.append([
          fact('run_a'),
          { ...fact('run_a'), type: 'warning' },
          fact('run_b'),
          fact('run_a'),
        ]);
        expect(ledger.read({ runId: 'run_a', after: 1 }).map((event) => event.seq)).toEqual([2, 3]);
        expect(ledger.read({ after: 2, limit: 1 }).map((event) => event.offset)).toEqual([3]);
        expect(ledger.read({ types: ['warning'] }).map((event) => event.offset)).toEqual([2]);
        expect(ledger.read({ runId: 'run_a', after: 99 })).toEqual([]);
        expect(ledger.read({ runId: null })).toEqual([]);
        expect(ledger.read({ limit: 0 })).toEqual([]);
      });

      test('appending nothing records nothing', async () => {
        expect(await ledger.append([])).toEqual([]);
        expect(ledger.lastOffset()).toBe(0);
      });

      test('an id that is already there is answered with what was stored', async () => {
        const [first] = await ledger.append([{ ...fact('run_a'), id: 'evt_1' }]);
        const again = await ledger.append([
          { ...fact('run_a'), id: 'evt_1', at: '2030-01-01T00:00:00.000Z' },
          fact('run_a'),
        ]);
        expect(again[0]).toEqual(first);
        expect(ledger.read().length).toBe(2);
      });

      test('an id that stands twice in one call is recorded once', async () => {
        const [first, second] = await ledger.append([
          { ...fact('run_a'), id: 'evt_1' },
          { ...fact('run_a'), id: 'evt_1' },
        ]);
        expect(first).toEqual(second);
        expect(ledger.lastOffset()).toBe(1);
      });

      test('an id with other content is refused and nothing of the call is recorded', async () => {
        await ledger.append([{ ...fact('run_a'), id: 'evt_1' }]);
        const call = ledger.append([fact('run_b'), { ...fact('run_a', { other: true }), id: 'evt_1' }]);
        await expect(call).rejects.toThrow(EventIdConflictError);
        expect(ledger.lastOffset()).toBe(1);
      });

      test('an expected sequence that has passed is refused, and a repeated call is not', async () => {
        const event = { ...fact('run_a'), id: 'evt_1' };
        await ledger.append([event], { expectedSeq: 0 });
        await expect(ledger.append([fact('run_a')], { expectedSeq: 0 })).rejects.toThrow(
          SequenceConflictError,
        );
        expect(await ledger.append([event], { expectedSeq: 0 })).toEqual(ledger.read());
        await expect(ledger.append([fact('run_a'), fact('run_b')], { expectedSeq: 1 })).rejects.toThrow(
          InvalidEventError,
        );
      });

      test('of many calls that expect the same sequence exactly one is recorded', async () => {
        const calls = Array.from({ length: 10 }, (_, index) =>
          ledger.append([fact('run_a', { index })], { expectedSeq: 0 }),
        );
        const settled = await Promise.allSettled(calls);
        expect(settled.filter((call) => call.status === 'fulfilled').length).toBe(1);
        expect(ledger.lastOffset()).toBe(1);
      });

      test('a refused call does not touch the calls beside it', async () => {
        const settled = await Promise.allSettled([
          ledger.append([fact('run_a', { call: 1 })]),
          ledger.append([fact('run_a', { call: 2 }), started('run_a')]),
          ledger.append([fact('run_a', { call: 3 })]),
        ]);
        expect(settled.map((call) => call.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
        expect(ledger.read().map((event) => event.data['call'])).toEqual([1, 3]);
        expect(ledger.verifyAll().ok).toBe(true);
      });

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
        await expect(ledger.append([{ ...fact('run_a'), ...part }])).rejects.toThrow(InvalidEventError);
        expect(ledger.lastOffset()).toBe(0);
      });

      test('a caller that changes its data afterwards changes nothing', async () => {
        const data = { list: [1] };
        const pending = ledger.append([fact('run_a', data)]);
        data.list.push(2);
        const [stored] = await pending;
        (stored?.data['list'] as number[]).push(3);
        expect(ledger.read()[0]?.data).toEqual({ list: [1] });
      });
    });

    describe('the life of a run', () => {
      test('goes from queued over running to done', async () => {
        await ledger.append([accepted('run_a')]);
        expect(ledger.run('run_a')?.status).toBe('queued');
        await ledger.append([launched('run_a', 1)]);
        expect(ledger.run('run_a')?.status).toBe('running');
        await ledger.append([started('run_a', 1), finished('run_a', 1)]);
        expect(ledger.run('run_a')).toEqual({
          runId: 'run_a',
          status: 'done',
          priority: 5,
          acceptedOffset: 1,
          acceptedAt: AT,
          startedAt: AT,
          endedAt: AT,
          attempt: 1,
          lastSeq: 4,
          host: 'host_1',
          description: 'count the beans',
          runtime: 'command',
          ending: 'dispatch.finished',
          durationMs: 12,
          costUsd: 0.25,
        });
      });

      test.each([
        ['dispatch.needs_input', {}, 'waiting'],
        ['dispatch.cancelled', { cause: 'user' }, 'cancelled'],
        ['dispatch.cancelled', { cause: 'shutdown' }, 'interrupted'],
        ['dispatch.failed', { failure: { reason: 'timeout', detail: '' } }, 'timeout'],
        ['dispatch.failed', { failure: { reason: 'budget-exceeded', detail: '' } }, 'budget_exceeded'],
        ['dispatch.failed', { failure: { reason: 'lost', detail: '' } }, 'interrupted'],
        ['dispatch.failed', { failure: { reason: 'crashed', detail: '' } }, 'error'],
      ])('%s with %o ends it as %s', async (type, data, status) => {
        await ledger.append([
          accepted('run_a'),
          { ...finished('run_a', 0), type, data: { durationMs: 1, ...data } },
        ]);
        expect(ledger.run('run_a')?.status).toBe(status);
        expect(ledger.runs({ status: 'queued' })).toEqual([]);
      });

      test('a retry is a new attempt and the old one stays as it was', async () => {
        const failure = { reason: 'crashed', detail: 'gone' };
        await ledger.append([accepted('run_a'), launched('run_a', 1), started('run_a', 1)]);
        await ledger.append([
          { ...fact('run_a', { failure, costUsd: 0.5 }), type: 'attempt.ended', attempt: 1 },
        ]);
        expect(ledger.run('run_a')?.status).toBe('queued');
        await ledger.append([launched('run_a', 2), started('run_a', 2), finished('run_a', 2)]);
        expect(ledger.attempts('run_a')).toEqual([
          {
            runId: 'run_a',
            attempt: 1,
            launchedAt: AT,
            handle: { pid: 1 },
            startedAt: AT,
            endedAt: AT,
            ending: 'attempt.ended',
            failure,
          },
          {
            runId: 'run_a',
            attempt: 2,
            launchedAt: AT,
            handle: { pid: 2 },
            startedAt: AT,
            endedAt: AT,
            ending: 'dispatch.finished',
          },
        ]);
        expect(ledger.spend()).toEqual([
          {
            runId: 'run_a',
            session: null,
            day: '2026-01-02',
            costUsd: 0.75,
            unknownCosts: 0,
            inputTokens: 10,
            outputTokens: 4,
            tokens: 14,
          },
        ]);
      });

      test('an unknown cost is never 0', async () => {
        const end = { ...finished('run_a', 0), data: { durationMs: 1 } };
        await ledger.append([accepted('run_a', { session: 'night' }), end]);
        expect(ledger.spend({ session: 'night' })[0]).toMatchObject({
          costUsd: null,
          unknownCosts: 1,
          tokens: 0,
        });
        expect(ledger.spend({ session: 'day' })).toEqual([]);
      });

      const illegal: [string, ReturnType<typeof fact>[], ReturnType<typeof fact>][] = [
        ['a second acceptance', [accepted('run_a')], accepted('run_a')],
        ['a start before acceptance', [], started('run_a')],
        ['an ending before acceptance', [], finished('run_a')],
        [
          'a second ending',
          [accepted('run_a'), finished('run_a', 0)],
          { ...finished('run_a', 0), type: 'dispatch.failed' },
        ],
        ['a start after the ending', [accepted('run_a'), finished('run_a', 0)], started('run_a')],
        ['a launch after the ending', [accepted('run_a'), finished('run_a', 0)], launched('run_a', 1)],
        ['a second start of one attempt', [accepted('run_a'), started('run_a')], started('run_a')],
        ['a second launch of one attempt', [accepted('run_a'), launched('run_a', 1)], launched('run_a', 1)],
        [
          'an ending by an attempt that was replaced',
          [accepted('run_a'), launched('run_a', 2)],
          finished('run_a', 1),
        ],
        ['a start without an attempt', [accepted('run_a')], { ...started('run_a'), attempt: 0 }],
        ['an acceptance without a run', [], accepted(null)],
        ['an answer to a question nobody asked', [accepted('run_a')], question('answered')],
        [
          'a second answer',
          [accepted('run_a'), question('asked'), question('answered')],
          question('answered'),
        ],
        [
          'an answer after the deadline',
          [accepted('run_a'), question('asked'), question('expired')],
          question('answered'),
        ],
      ];
      test.each(illegal)('refuses %s', async (_what, before, event) => {
        await ledger.append(before);
        await expect(ledger.append([fact('run_a'), event])).rejects.toThrow(IllegalTransitionError);
        expect(ledger.lastOffset()).toBe(before.length);
        await expect(ledger.append([...before.slice(0, 0), fact('run_a')])).resolves.toHaveLength(1);
      });

      test('of many endings at once exactly one is recorded', async () => {
        await ledger.append([accepted('run_a')]);
        const settled = await Promise.allSettled(
          Array.from({ length: 20 }, () => ledger.append([finished('run_a', 0)])),
        );
        expect(settled.filter((call) => call.status === 'fulfilled').length).toBe(1);
      });

      test('other facts may follow the ending and the seal moves along', async () => {
        await ledger.append([
          accepted('run_a'),
          finished('run_a', 0),
          { ...fact('run_a'), type: 'callback.delivered' },
        ]);
        expect(ledger.verifyRun('run_a')).toMatchObject({ ok: true, sealed: true, count: 3, problems: [] });
        expect(ledger.read({ runId: 'run_a' }).length).toBe(3);
      });

      test('an idempotency key belongs to the run that was accepted first', async () => {
        await ledger.append([accepted('run_a', { idempotencyKey: 'k' })]);
        const second = ledger.append([accepted('run_b', { idempotencyKey: 'k' })]);
        await expect(second).rejects.toThrow(IdempotencyKeyTakenError);
        await expect(second).rejects.toMatchObject({ runId: 'run_a' });
        expect(ledger.runs({ idempotencyKey: 'k' }).map((run) => run.runId)).toEqual(['run_a']);
      });

      test('a question is asked, listed and answered', async () => {
        await ledger.append([accepted('run_a'), question('asked')]);
        expect(ledger.questions({ status: 'open' })).toEqual([
          {
            questionId: 'q_1',
            runId: 'run_a',
            attempt: 0,
            status: 'open',
            text: 'red or blue?',
            options: ['red', 'blue'],
            askedAt: AT,
            askedOffset: 2,
          },
        ]);
        await ledger.append([
          { ...finished('run_a', 0), type: 'dispatch.needs_input' },
          question('answered'),
        ]);
        expect(ledger.question('q_1')).toMatchObject({ status: 'answered', answer: 'blue', closedAt: AT });
        expect(ledger.questions({ status: 'open' })).toEqual([]);
        expect(ledger.questions({ runId: 'run_a' }).length).toBe(1);
      });

      test('lists runs by session, by status and newest first', async () => {
        await ledger.append([
          accepted('run_a', { session: 's' }),
          accepted('run_b'),
          accepted('run_c', { session: 's' }),
        ]);
        expect(ledger.runs({ session: 's', newestFirst: true }).map((run) => run.runId)).toEqual([
          'run_c',
          'run_a',
        ]);
        expect(ledger.runs({ status: ['queued', 'running'], limit: 2 }).map((run) => run.runId)).toEqual([
          'run_a',
          'run_b',
        ]);
        expect(ledger.run('run_x')).toBeNull();
      });

      test('projections are rebuilt from events alone, and are then the same', async () => {
        await appendSomeLives(ledger);
        const before = everyRow(ledger);
        ledger.rebuildProjections();
        expect(everyRow(ledger)).toEqual(before);
        expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
      });
    });

    describe('leases', () => {
      test('slots go to the head of the queue: priority first, then acceptance', async () => {
        await ledger.append([accepted('run_a'), accepted('run_b', {}, 1), accepted('run_c')]);
        for (const runId of ['run_c', 'run_a', 'run_b'])
          ledger.leases.enqueue({ pool: 'p', runId, hostId: 'h' });
        const take = (runId: string) => ledger.leases.tryTake({ pool: 'p', runId, hostId: 'h', limit: 2 });
        expect(ledger.leases.listQueue('p').map((row) => row.runId)).toEqual(['run_b', 'run_a', 'run_c']);
        expect([take('run_a'), take('run_b'), take('run_c'), take('run_a'), take('run_c')]).toEqual([
          'not-head',
          'taken',
          'not-head',
          'taken',
          'full',
        ]);
        expect(take('run_b')).toBe('taken');
        expect(ledger.leases.queueLength('p')).toBe(1);
        expect(ledger.leases.release('run_b')).toBe(true);
        expect(ledger.leases.release('run_b')).toBe(false);
        expect(take('run_c')).toBe('taken');
        expect(ledger.leases.listSlots('p').map((row) => row.runId)).toEqual(['run_a', 'run_c']);
      });

      test('a run that ended while it waited does not block the queue', async () => {
        await ledger.append([accepted('run_a'), accepted('run_b')]);
        ledger.leases.enqueue({ pool: 'p', runId: 'run_a', hostId: 'h' });
        ledger.leases.enqueue({ pool: 'p', runId: 'run_b', hostId: 'h' });
        await ledger.append([
          { ...finished('run_a', 0), type: 'dispatch.cancelled', data: { cause: 'user' } },
        ]);
        expect(ledger.leases.queueLength('p')).toBe(1);
        expect(ledger.leases.tryTake({ pool: 'p', runId: 'run_b', hostId: 'h', limit: 1 })).toBe('taken');
      });

      test('the queue is bounded and leaving it makes room', async () => {
        await ledger.append([accepted('run_a'), accepted('run_b')]);
        const enqueue = (runId: string) => ledger.leases.enqueue({ pool: 'p', runId, hostId: 'h', limit: 1 });
        expect([enqueue('run_a'), enqueue('run_a'), enqueue('run_b')]).toEqual(['queued', 'queued', 'full']);
        expect(ledger.leases.dequeue('run_a')).toBe(true);
        expect(enqueue('run_b')).toBe('queued');
        expect(ledger.leases.tryTake({ pool: 'p', runId: 'run_a', hostId: 'h', limit: 1 })).toBe('not-head');
      });

      test('a named lease has one holder at a time', () => {
        expect(ledger.leases.tryHold('workspace', 'run_a', 'h1')).toBe(true);
        expect(ledger.leases.tryHold('workspace', 'run_a', 'h1')).toBe(true);
        expect(ledger.leases.tryHold('workspace', 'run_b', 'h2')).toBe(false);
        expect(ledger.leases.holderOf('workspace')).toEqual({
          name: 'workspace',
          holder: 'run_a',
          hostId: 'h1',
        });
        expect(ledger.leases.free('workspace', 'run_b')).toBe(false);
        expect(ledger.leases.free('workspace', 'run_a')).toBe(true);
        expect(ledger.leases.holderOf('workspace')).toBeNull();
      });

      test('everything of a dead host can be taken back at once', async () => {
        await ledger.append([accepted('run_a'), accepted('run_b'), accepted('run_c')]);
        for (const runId of ['run_a', 'run_b']) ledger.leases.enqueue({ pool: 'p', runId, hostId: 'dead' });
        ledger.leases.enqueue({ pool: 'p', runId: 'run_c', hostId: 'alive' });
        ledger.leases.tryTake({ pool: 'p', runId: 'run_a', hostId: 'dead', limit: 1 });
        ledger.leases.tryHold('key', 'run_a', 'dead');
        expect(ledger.leases.hosts()).toEqual(['alive', 'dead']);
        expect(ledger.leases.reclaim('dead')).toEqual({
          slots: ['run_a'],
          queued: ['run_b'],
          holds: ['key'],
        });
        expect(ledger.leases.reclaim('dead')).toEqual({ slots: [], queued: [], holds: [] });
        expect(ledger.leases.hosts()).toEqual(['alive']);
        expect(ledger.leases.tryTake({ pool: 'p', runId: 'run_c', hostId: 'alive', limit: 1 })).toBe('taken');
      });

      test('small values are kept, listed and deleted', () => {
        ledger.kv.set('s', 'b', { n: 1 });
        ledger.kv.set('s', 'a', null);
        ledger.kv.set('t', 'a', 'other space');
        expect(ledger.kv.get('s', 'b')).toEqual({ n: 1 });
        expect(ledger.kv.get('s', 'x')).toBeUndefined();
        expect(ledger.kv.list('s')).toEqual([
          { key: 'a', value: null },
          { key: 'b', value: { n: 1 } },
        ]);
        expect([ledger.kv.delete('s', 'b'), ledger.kv.delete('s', 'b')]).toEqual([true, false]);
      });
    });

    describe('watching and closing', () => {
      test('a watcher hears of a commit after it happened, and a throwing one hurts nobody', async () => {
        const heard = Promise.withResolvers<LedgerChange>();
        const warned = Promise.withResolvers<Error>();
        process.once('warning', warned.resolve);
        ledger.watch(() => {
          throw new Error('bad listener');
        });
        const stop = ledger.watch(heard.resolve);
        await ledger.append([fact('run_a')]);
        expect(await heard.promise).toEqual({ origin: 'own' });
        expect((await warned.promise).message).toContain('bad listener');
        stop();
        stop();
      });

      test('close waits for what is in flight, and then nothing works any more', async () => {
        const pending = ledger.append([fact('run_a')]);
        const closed = ledger.close();
        expect((await pending).length).toBe(1);
        await closed;
        await ledger.close();
        await expect(ledger.append([fact('run_a')])).rejects.toThrow(LedgerClosedError);
        expect(() => ledger.read()).toThrow(LedgerClosedError);
      });
    });

    test('whatever the interleaving: no holes, chains hold, ids count once', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(callArbitrary, { maxLength: 25 }), async (calls) => {
          const own = await open();
          try {
            const settled = await Promise.allSettled(
              calls.map((call) => own.append(call.events, call.options)),
            );
            checkHistory(own, settled);
          } finally {
            await own.close();
          }
        }),
        { numRuns: 40 },
      );
    });
  });
}

const eventArbitrary = fc
  .record({
    runId: fc.constantFrom('run_a', 'run_b', null),
    kind: fc.constantFrom('fact', 'accepted', 'launched', 'started', 'finished'),
    attempt: fc.integer({ min: 1, max: 2 }),
    id: fc.option(fc.constantFrom('evt_1', 'evt_2', 'evt_3'), { nil: undefined }),
    data: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
  })
  .map(({ runId, kind, attempt, id, data }) => {
    const makers = {
      fact: () => fact(runId, data),
      accepted: () => accepted(runId),
      launched: () => launched(runId, attempt),
      started: () => started(runId, attempt),
      finished: () => finished(runId, attempt),
    };
    return { ...makers[kind as keyof typeof makers](), ...(id === undefined ? {} : { id }) };
  });

const callArbitrary = fc.record({
  events: fc.array(eventArbitrary, { maxLength: 4 }),
  options: fc.option(
    fc.integer({ min: 0, max: 4 }).map((expectedSeq) => ({ expectedSeq })),
    { nil: undefined },
  ),
});

function checkHistory(ledger: Ledger, settled: PromiseSettledResult<readonly StoredEvent[]>[]): void {
  const all = ledger.read();
  expect(all.map((event) => event.offset)).toEqual(all.map((_, index) => index + 1));
  expect(new Set(all.map((event) => event.id)).size).toBe(all.length);
  for (const runId of ['run_a', 'run_b', null]) {
    const stream = ledger.read({ runId });
    expect(stream.map((event) => event.seq)).toEqual(stream.map((_, index) => index + 1));
    expect(stream).toEqual(all.filter((event) => event.runId === runId));
    expect(stream.filter((event) => event.type === 'dispatch.finished').length).toBeLessThanOrEqual(1);
  }
  const acknowledged = settled.flatMap((call) => (call.status === 'fulfilled' ? call.value : []));
  for (const event of acknowledged) expect(all[event.offset - 1]).toEqual(event);
  expect(new Set(acknowledged.map((event) => event.offset)).size).toBe(all.length);
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [], events: all.length });
  const rows = everyRow(ledger);
  ledger.rebuildProjections();
  expect(everyRow(ledger)).toEqual(rows);
}

async function appendSomeLives(ledger: Ledger): Promise<void> {
  await ledger.append([
    accepted('run_a', { session: 's', idempotencyKey: 'k' }),
    launched('run_a', 1),
    started('run_a', 1),
  ]);
  await ledger.append([
    question('asked'),
    { ...finished('run_a', 1), type: 'dispatch.needs_input' },
    question('answered'),
  ]);
  await ledger.append([
    accepted('run_b', { continues: 'run_a' }),
    fact('run_b'),
    finished('run_b', 0),
    fact(null),
  ]);
  await ledger.append([accepted('run_c')]);
}

function everyRow(ledger: Ledger) {
  const runs = ledger.runs();
  return {
    runs,
    attempts: runs.map((run) => ledger.attempts(run.runId)),
    questions: ledger.questions(),
    spend: ledger.spend(),
  };
}

function question(what: 'asked' | 'answered' | 'expired') {
  const data = what === 'asked' ? { text: 'red or blue?', options: ['red', 'blue'] } : { answer: 'blue' };
  return { ...fact('run_a', { questionId: 'q_1', ...data }), type: `question.${what}`, attempt: 0 };
}

function circle(): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}
