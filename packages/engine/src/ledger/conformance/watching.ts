import { describe, expect, test } from 'vitest';
import type { LedgerChange } from '../contract.ts';
import { LedgerClosedError } from '../errors.ts';
import { fact } from '../fixtures/sample-events.ts';
import { useLedger, type OpenLedger } from './open-ledger.ts';

export function describeWatching(open: OpenLedger): void {
  describe('watching and closing', () => {
    const at = useLedger(open);

    test('a watcher is called after a commit, and one that throws disturbs no other', async () => {
      const received = Promise.withResolvers<LedgerChange>();
      const warned = Promise.withResolvers<Error>();
      process.once('warning', warned.resolve);
      at.ledger.watch(() => {
        throw new Error('bad listener');
      });
      const stop = at.ledger.watch(received.resolve);
      await at.ledger.append([fact('run_a')]);
      expect(await received.promise).toEqual({ origin: 'own' });
      expect((await warned.promise).message).toContain('bad listener');
      stop();
      stop();
    });

    test('close waits for what is in flight, and then nothing works any more', async () => {
      const pending = at.ledger.append([fact('run_a')]);
      const closed = at.ledger.close();
      expect((await pending).length).toBe(1);
      await closed;
      await at.ledger.close();
      await expect(at.ledger.append([fact('run_a')])).rejects.toThrow(LedgerClosedError);
      expect(() => at.ledger.read()).toThrow(LedgerClosedError);
    });
  });
}
