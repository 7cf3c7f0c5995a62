import { describe, expect, test } from 'vitest';
import { createManualClock } from '@caisson/ground';
import { DEFAULT_POOL } from '../contract.ts';
import { PoolFullError } from '../errors.ts';
import { accepted, AT, fact, finished, launched } from '../fixtures/sample-events.ts';
import { useLedger, type LedgerAtHand, type OpenLedger } from './open-ledger.ts';

const NOW = Date.parse(AT);

export function describeLeases(open: OpenLedger): void {
  describe('leases', () => {
    const at = useLedger(open);
    describeQueue(at);
    describeWaiting(at);
    describePositions(at);
    describeHolds(at);
  });
}

function describeQueue(at: LedgerAtHand): void {
  test('slots go to the head of the queue: priority first, then acceptance', async () => {
    await at.ledger.append([
      accepted('run_a', { pool: 'p' }),
      accepted('run_b', { pool: 'p' }, 1),
      accepted('run_c', { pool: 'p' }),
      accepted('run_d', {}, 1),
    ]);
    const take = (runId: string) =>
      at.ledger.leases.tryTake({ pool: 'p', runId, hostId: 'h', limit: 2, nowMs: NOW });
    expect(at.ledger.leases.listQueue('p', NOW).map((row) => row.runId)).toEqual(['run_b', 'run_a', 'run_c']);
    expect([take('run_a'), take('run_b'), take('run_c'), take('run_a'), take('run_c')]).toEqual([
      'not-head',
      'taken',
      'not-head',
      'taken',
      'full',
    ]);
    expect(take('run_b')).toBe('taken');
    expect(at.ledger.leases.queueLength('p')).toBe(1);
    await at.ledger.append([finished('run_b', 0)]);
    expect(at.ledger.leases.release('run_b')).toBe(true);
    expect(at.ledger.leases.release('run_b')).toBe(false);
    expect(take('run_c')).toBe('taken');
    expect(at.ledger.leases.listSlots('p').map((row) => row.runId)).toEqual(['run_a', 'run_c']);
  });

  test('every 30 s of waiting raise a run by one step: no stream of others keeps it waiting for ever', async () => {
    const clock = createManualClock(NOW);
    let count = 0;
    const accept = async (priority: number): Promise<string> => {
      const event = accepted(`run_${++count}`, { pool: 'p' }, priority);
      await at.ledger.append([{ ...event, at: clock.now().toISOString() }]);
      return `run_${count}`;
    };
    const last = await accept(10);
    const ranMs = new Map<string, number>();
    while (!ranMs.has(last) && ranMs.size < 50) {
      await accept(1); // one comes every 10 s, and one is done in that time
      const [head] = at.ledger.leases.listQueue('p', clock.wallMs());
      const request = { pool: 'p', runId: head?.runId ?? '', hostId: 'h', limit: 1, nowMs: clock.wallMs() };
      expect(at.ledger.leases.tryTake(request)).toBe('taken');
      ranMs.set(request.runId, clock.monotonicMs());
      clock.advance(10_000);
      await at.ledger.append([finished(request.runId, 0)]);
      at.ledger.leases.release(request.runId);
    }
    expect(ranMs.get(last)).toBe(9 * 30_000);
  });
}

const wait = (runId: string, priority: number, ms: number) => ({
  ...accepted(runId, { pool: 'p' }, priority),
  at: new Date(NOW + ms).toISOString(),
});

function describePositions(at: LedgerAtHand): void {
  test('the place of a run is counted as the queue has it', async () => {
    await at.ledger.append([wait('run_a', 7, 0), wait('run_b', 5, 59_000), wait('run_c', 5, 60_000)]);
    const positionsAt = (ms: number) =>
      ['a', 'b', 'c'].map((name) => at.ledger.leases.positionOf('p', `run_${name}`, NOW + ms));
    expect([-90_000, 60_000, 200_000].map(positionsAt)).toEqual([
      [3, 1, 2],
      [2, 1, 3],
      [1, 2, 3],
    ]);
    at.ledger.leases.tryTake({ pool: 'p', runId: 'run_a', hostId: 'h', limit: 1, nowMs: NOW + 200_000 });
    expect(positionsAt(200_000), 'without the one that has a slot').toEqual([0, 1, 2]);
  });
}

function describeWaiting(at: LedgerAtHand): void {
  test('a run is raised against those that come later, and a clock that was set back takes nothing away', async () => {
    await at.ledger.append([wait('run_a', 7, 0), wait('run_b', 5, 59_000), wait('run_c', 5, 60_000)]);
    const queueAt = (ms: number) =>
      at.ledger.leases.listQueue('p', NOW + ms).map(({ runId }) => runId.at(-1));
    expect([-90_000, 60_000, 120_000, 200_000].map((ms) => queueAt(ms).join(''))).toEqual([
      'bca', // all as they were asked for
      'bac', // two steps: as good as the third one, and earlier
      'bac',
      'abc', // all have the first priority: in the order of their acceptance
    ]);
  });

  test('a run that ended while it waited does not block the queue', async () => {
    await at.ledger.append([accepted('run_a', { pool: 'p' }), accepted('run_b', { pool: 'p' })]);
    await at.ledger.append([
      { ...finished('run_a', 0), type: 'dispatch.cancelled', data: { cause: 'user' } },
    ]);
    expect(at.ledger.leases.queueLength('p')).toBe(1);
    expect(at.ledger.leases.tryTake({ pool: 'p', runId: 'run_b', hostId: 'h', limit: 1, nowMs: NOW })).toBe(
      'taken',
    );
  });

  test('a pool takes no more runs than its bound, also from calls that share a commit', async () => {
    const poolLimit = { pool: 'p', bound: 3 };
    const accept = (runId: string, pool = 'p') =>
      at.ledger.append([accepted(runId, { pool })], { poolLimit });
    const first = await Promise.allSettled(['run_a', 'run_b', 'run_c', 'run_d'].map((id) => accept(id)));
    expect(first.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    expect(at.ledger.run('run_d')).toBeNull();
    await expect(accept('run_e')).rejects.toThrow(PoolFullError);
    expect(at.ledger.leases.tryTake({ pool: 'p', runId: 'run_a', hostId: 'h', limit: 1, nowMs: NOW })).toBe(
      'taken',
    );
    await at.ledger.append([launched('run_a', 1)]);
    await expect(accept('run_e')).rejects.toThrow(PoolFullError); // a run with a slot counts, too
    await at.ledger.append([finished('run_a', 1)]);
    at.ledger.leases.release('run_a');
    await accept('run_e');
    expect(at.ledger.leases.queueLength('p')).toBe(3);
  });

  test('a run waits from its acceptance to its first attempt, and a retry keeps its slot', async () => {
    const waiting = () => at.ledger.leases.listQueue(DEFAULT_POOL, NOW).map((row) => row.runId);
    await at.ledger.append([accepted('run_a'), accepted('run_b')]);
    expect(waiting()).toEqual(['run_a', 'run_b']);
    await at.ledger.append([launched('run_a', 1)]);
    expect(waiting()).toEqual(['run_b']);
    await at.ledger.append([{ ...fact('run_a'), type: 'attempt.ended', attempt: 1 }]);
    expect(waiting()).toEqual(['run_b']);
    expect(at.ledger.leases.queueLength(DEFAULT_POOL)).toBe(1);
  });
}

function describeHolds(at: LedgerAtHand): void {
  test('a named lease has one holder at a time', () => {
    expect(at.ledger.leases.tryHold('workspace', 'run_a', 'h1')).toBe(true);
    expect(at.ledger.leases.tryHold('workspace', 'run_a', 'h1')).toBe(true);
    expect(at.ledger.leases.tryHold('workspace', 'run_b', 'h2')).toBe(false);
    expect(at.ledger.leases.holderOf('workspace')).toEqual({
      name: 'workspace',
      holder: 'run_a',
      hostId: 'h1',
    });
    expect(at.ledger.leases.free('workspace', 'run_b')).toBe(false);
    expect(at.ledger.leases.free('workspace', 'run_a')).toBe(true);
    expect(at.ledger.leases.holderOf('workspace')).toBeNull();
  });

  test('everything of a dead host can be taken back at once', async () => {
    await at.ledger.append([accepted('run_a'), accepted('run_b')]);
    const take = (runId: string, hostId: string) =>
      at.ledger.leases.tryTake({ pool: DEFAULT_POOL, runId, hostId, limit: 1, nowMs: NOW });
    expect([take('run_a', 'dead'), take('run_b', 'alive')]).toEqual(['taken', 'full']);
    at.ledger.leases.tryHold('key', 'run_a', 'dead');
    at.ledger.leases.tryHold('other', 'run_b', 'alive');
    expect(at.ledger.leases.hosts()).toEqual(['alive', 'dead']);
    expect(at.ledger.leases.reclaim('dead')).toEqual({ slots: ['run_a'], holds: ['key'] });
    expect(at.ledger.leases.reclaim('dead')).toEqual({ slots: [], holds: [] });
    expect(at.ledger.leases.hosts()).toEqual(['alive']);
    await at.ledger.append([{ ...finished('run_a', 0), type: 'dispatch.failed' }]);
    expect(take('run_b', 'alive')).toBe('taken');
  });

  test('small values are kept, listed and deleted', () => {
    at.ledger.kv.set('s', 'b', { n: 1 });
    at.ledger.kv.set('s', 'a', null);
    at.ledger.kv.set('t', 'a', 'other space');
    expect(at.ledger.kv.get('s', 'b')).toEqual({ n: 1 });
    expect(at.ledger.kv.get('s', 'x')).toBeUndefined();
    expect(at.ledger.kv.list('s')).toEqual([
      { key: 'a', value: null },
      { key: 'b', value: { n: 1 } },
    ]);
    expect([at.ledger.kv.delete('s', 'b'), at.ledger.kv.delete('s', 'b')]).toEqual([true, false]);
  });

  test('reads and values are one transaction when they ask to be alone', () => {
    const count = () => Number(at.ledger.kv.get('s', 'n') ?? 0);
    const add = () => {
      at.ledger.kv.set('s', 'n', count() + at.ledger.spend().length + 1);
      return count();
    };
    expect([at.ledger.alone(add), at.ledger.alone(add)]).toEqual([1, 2]);
    expect(() =>
      at.ledger.alone(() => {
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(count()).toBe(2);
  });
}
