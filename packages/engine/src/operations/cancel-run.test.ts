import { systemClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import type { Engine } from '../engine.ts';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import { cancelRun } from './cancel-run.ts';

/** A run whose host lives and does not drive it. Waiting is over at once, except where `waits`. */
async function stage({ waits = false } = {}) {
  const ledger = createMemoryLedger();
  const record = createRecorder({ ledger, clock: systemClock }).of('run_a');
  await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
  const closing = new AbortController();
  const asked = Promise.withResolvers<void>();
  let nowMs = 0;
  let orders = 0;
  const setTimer = (ms: number, fire: () => void): (() => void) => {
    nowMs += ms;
    if (!waits) queueMicrotask(fire);
    return () => undefined;
  };
  const order = () => {
    orders += 1;
    asked.resolve();
    return Promise.resolve({ ok: false, message: 'this host does not run run_a' });
  };
  const engine = {
    ...{ ledger, hostId: 'host_own', hosts: { order }, dispatcher: { closing: closing.signal } },
    clock: { monotonicMs: () => nowMs, setTimer },
  } as unknown as Engine;
  return { engine, closing, asked: asked.promise, orders: () => orders };
}

test('a run whose host answers and never drives it is not driven, after a few orders', async () => {
  const { engine, orders } = await stage();
  expect(await cancelRun(engine, 'run_a')).toBe('not-driven');
  expect(orders()).toBeLessThan(25);
});

test('the wait for another host ends with this one', { timeout: 2000 }, async () => {
  const { engine, closing, asked } = await stage({ waits: true });
  const cancelled = cancelRun(engine, 'run_a');
  await asked;
  closing.abort();
  expect(await cancelled).toBe('not-driven');
});
