import { describe, expect, test } from 'vitest';
import { findAccepted } from '../find-accepted.ts';
import { accepted, fact } from '../fixtures/sample-events.ts';
import { useLedger, type OpenLedger } from './open-ledger.ts';

export function describeReading(open: OpenLedger): void {
  describe('reading in pieces', () => {
    const at = useLedger(open);

    test('one event is found by its id, and an id of none finds nothing', async () => {
      const [, second] = await at.ledger.append([fact('run_a'), fact('run_a'), fact('run_b')]);
      expect(at.ledger.find(second?.id ?? '')).toEqual(second);
      expect(at.ledger.find('evt_of_none')).toBeNull();
    });

    test('the acceptance of a run is read at its place, however long the run is', async () => {
      await at.ledger.append([accepted('run_a'), accepted('run_b')]);
      await at.ledger.append(Array.from({ length: 300 }, () => fact('run_b')));
      const [expected] = at.ledger.read({ runId: 'run_b', types: ['dispatch.accepted'] });
      expect(expected?.runId).toBe('run_b');
      expect(findAccepted(at.ledger, 'run_b')).toEqual(expected);
      expect(findAccepted(at.ledger, 'run_none')).toBeNull();
    });

    test('a check of everything says what it looks at, and how far it is', async () => {
      await at.ledger.append([fact('run_a'), fact('run_b')]);
      const said: unknown[] = [];
      expect(at.ledger.verifyAll((...step) => void said.push(step)).ok).toBe(true);
      expect(said).toEqual([
        ['file', 0, 2],
        ['events', 1, 2],
        ['events', 2, 2],
        ['rows', 0, 2],
      ]);
    });

    test('a run of many events is read in pieces as it is read at once, and what is appended meanwhile is left out', async () => {
      await at.ledger.append(Array.from({ length: 300 }, () => fact('run_a')));
      await at.ledger.append([fact('run_b')]);
      const expected = at.ledger.read({ runId: 'run_a' });
      const reading = at.ledger.readRun('run_a');
      await at.ledger.append([fact('run_a')]);
      expect((await reading).slice(0, 300)).toEqual(expected);
      expect(await at.ledger.readRun('run_a')).toEqual(at.ledger.read({ runId: 'run_a' }));
      expect(await at.ledger.readRun('run_none')).toEqual([]);
      for (const [after, size] of [
        [0, 500],
        [0, 100],
        [7, 98],
        [250, 17],
        [301, 5],
      ] as const) {
        const pages = [];
        for await (const page of at.ledger.pageRun('run_a', after, size)) pages.push(page);
        expect(pages.flat()).toEqual(at.ledger.read({ runId: 'run_a', after }));
        expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(size);
      }
      for (const after of [1, 7, 299, 300, 301, 302])
        expect(await at.ledger.readRun('run_a', after)).toEqual(at.ledger.read({ runId: 'run_a', after }));
    });
  });
}
