import { definedOnly, recordedTypeOf } from '@caisson/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFAULT_POOL } from '../contract.ts';
import type { Ledger, SlotRow, StoredEvent, StoredOf } from '../contract.ts';
import { accepted, fact, finished, launched, started } from '../fixtures/sample-events.ts';
import { everyRow } from './every-row.ts';
import type { OpenLedger } from './open-ledger.ts';

export function describeInterleavings(open: OpenLedger): void {
  test('whatever the interleaving: no holes, chains are intact, ids count once', async () => {
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
}

const RUNS = ['run_a', 'run_b', 'run_c', 'run_d'] as const;

const eventArbitrary = fc
  .record({
    runId: fc.constantFrom(...RUNS, null),
    kind: fc.constantFrom('fact', 'accepted', 'launched', 'started', 'ended', 'finished'),
    attempt: fc.integer({ min: 1, max: 2 }),
    priority: fc.integer({ min: 1, max: 3 }),
    pool: fc.constantFrom(undefined, 'runs', 'deep'),
    id: fc.option(fc.constantFrom('evt_1', 'evt_2', 'evt_3'), { nil: undefined }),
    data: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
  })
  .map(({ runId, kind, attempt, priority, pool, id, data }) => {
    const makers = {
      fact: () => fact(runId, data),
      accepted: () => accepted(runId, { pool }, priority),
      launched: () => launched(runId, attempt),
      started: () => started(runId, attempt),
      ended: () => ({ ...fact(runId, data), type: 'attempt.ended', attempt }),
      finished: () => finished(runId, attempt),
    };
    return { ...makers[kind](), ...definedOnly({ id }) };
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
  for (const runId of [...RUNS, null]) {
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
  expect(rows.queue).toEqual(queuesOf(all));
}

/** The queues as the contract defines them, straight from the events. */
function queuesOf(events: readonly StoredEvent[]): SlotRow[][] {
  const acceptances = events.filter((event) => event.type === 'dispatch.accepted');
  const left = events.filter((event) => /^(attempt\.|dispatch\.(?!accepted))/.test(recordedTypeOf(event)));
  const poolOf = ({ data }: StoredOf<'dispatch.accepted'>) => data.pool ?? DEFAULT_POOL;
  const priorityOf = ({ data }: StoredOf<'dispatch.accepted'>) => data.task.priority;
  return [...new Set(acceptances.map(poolOf))].map((pool) =>
    acceptances
      .filter((event) => poolOf(event) === pool && !left.some(({ runId }) => runId === event.runId))
      .toSorted((a, b) => priorityOf(a) - priorityOf(b) || a.offset - b.offset)
      .map((event) => ({ runId: event.runId ?? '', pool, hostId: 'host_1' })),
  );
}
