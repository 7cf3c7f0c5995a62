import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ledger, LedgerChange } from '../contract.ts';
import { LedgerClosedError } from '../errors.ts';
import { fact } from '../fixtures/sample-events.ts';
import type { OpenLedger } from './open-ledger.ts';

export function describeWatching(open: OpenLedger): void {
  describe('watching and closing', () => {
    let ledger: Ledger;
    beforeEach(async () => {
      ledger = await open();
    });
    afterEach(() => ledger.close());

    test('a watcher is called after a commit, and one that throws disturbs no other', async () => {
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
}
