import { createManualClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import type { SealedResult } from '../evidence/index.ts';
import { deliverSealed } from './deliver-sealed.ts';

const sealed = { runId: 'run_00000000000000000001' } as SealedResult;

test('a sink that never answers is given up after three tries, gets a stop signal, and delays no other', async () => {
  const clock = createManualClock();
  const stopped: string[] = [];
  let taken = 0;
  let begun = 0;
  const outcome = deliverSealed(
    [
      {
        name: 'silent',
        deliver: (_sealed, signal) => {
          begun += 1;
          signal?.addEventListener('abort', () => stopped.push((signal.reason as Error).message));
          return new Promise(() => undefined);
        },
      },
      { name: 'taking', deliver: async () => void (taken += 1) },
    ],
    sealed,
    clock,
  );
  let isDone = false;
  void outcome.then(() => (isDone = true));
  while (!isDone) {
    clock.advance(10_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await outcome).toEqual([
    'result sink silent failed 3 times, the last time with: no answer within 10 s',
  ]);
  expect([begun, stopped.length, taken]).toEqual([3, 3, 1]);
});
