import { expect, test } from 'vitest';
import { accepted, fact } from '../ledger/fixtures/sample-events.ts';
import { createMemoryLedger } from '../ledger/index.ts';
import { NoPatchError, readPatch } from './run-patch.ts';

test('a run whose ending another version wrote has no patch that can be shown', async () => {
  const ledger = createMemoryLedger();
  await ledger.append([
    accepted('run_a'),
    { ...fact('run_a', { how: 'well' }), type: 'dispatch.finished', attempt: 0 },
  ]);
  await expect(readPatch({ ledger } as never, 'run_a')).rejects.toThrow(NoPatchError);
});
