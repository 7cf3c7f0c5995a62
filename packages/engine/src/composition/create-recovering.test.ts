import { systemClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import type { Recovered } from '../recovery/index.ts';
import { createRecovering } from './create-recovering.ts';

const found = (runId: string): Recovered => ({
  ...{ settled: [runId], left: [], adopted: [], adoptable: [], skipped: [] },
});

test('a host that closes waits for the recovery under way, and begins none of those that wait for it', async () => {
  const first = Promise.withResolvers<Recovered>();
  const begun: unknown[] = [];
  const { recoverDead, close } = createRecovering(systemClock, (options) => {
    begun.push(options);
    return first.promise;
  });
  const underWay = recoverDead();
  const waiting = recoverDead({ cancelled: 'run_a' });
  let isClosed = false;
  const closing = close().then(() => (isClosed = true));
  await Promise.resolve();
  expect(isClosed).toBe(false);
  first.resolve(found('run_b'));
  await closing;
  expect([await underWay, (await waiting).settled]).toEqual([found('run_b'), []]);
  expect([(await recoverDead()).settled, begun]).toEqual([[], [{}]]);
});

test('it does not wait for ever for a recovery', async () => {
  const setTimer = (_ms: number, fire: () => void) => (queueMicrotask(fire), () => undefined);
  const { recoverDead, close } = createRecovering({ setTimer }, () => new Promise(() => undefined));
  void recoverDead();
  await close();
});
