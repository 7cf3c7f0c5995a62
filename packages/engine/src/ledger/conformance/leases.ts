import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ledger } from '../contract.ts';
import { accepted, finished } from '../fixtures/sample-events.ts';
import type { OpenLedger } from './open-ledger.ts';

export function describeLeases(open: OpenLedger): void {
  describe('leases', () => {
    let ledger: Ledger;
    beforeEach(async () => {
      ledger = await open();
    });
    afterEach(() => ledger.close());

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
      await ledger.append([{ ...finished('run_a', 0), type: 'dispatch.cancelled', data: { cause: 'user' } }]);
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
}
