import { expect, test } from 'vitest';
import { LedgerFullError } from '../ledger/index.ts';
import { oneRole, openStage } from './thread-stage.ts';

test('a host whose ledger is full can end while it cancels a thread that waits for a place', async () => {
  const stage = openStage(oneRole(({ sleep }) => sleep(86_400_000)));
  await stage.untilStatus(await stage.start(), 'waiting');
  const queued = await stage.start();
  stage.outage.error = new LedgerFullError('ledger.db', new Error('disk full'));
  const cancelled = stage.threads.cancel(queued);
  await expect.poll(() => stage.warnings).toHaveLength(1);
  await Promise.all([stage.stop(), expect(cancelled).rejects.toThrow(LedgerFullError)]);
  expect(stage.ledger.thread(queued)?.status).toBe('queued');
});
