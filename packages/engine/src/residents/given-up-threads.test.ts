/** Threads that wait, are parked, interrupted or given up, beside others that work. */
import type { RoleContext, Workflow } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { oneRole, openStage, openStill } from './thread-stage.ts';

const DAY_MS = 86_400_000;

/** Sleeps, or works until the test ends it. */
const MIXED: Record<string, Workflow> = oneRole(({ payload, sleep }: RoleContext) =>
  payload === 'sleeps' ? sleep(DAY_MS) : new Promise(() => undefined),
);

test('a thread that sleeps gives up its turn although another one of its workflow works', async () => {
  const stage = openStill(MIXED, { concurrency: 40 });
  const works = await stage.start({ payload: 'works' });
  const sleeping = await Promise.all(Array.from({ length: 3 }, () => stage.start({ payload: 'sleeps' })));
  for (const threadId of sleeping) await stage.untilStatus(threadId, 'waiting');
  await expect.poll(() => stage.runtime.underWay).toBe(4);
  stage.clock.advance(10_000);
  await expect.poll(() => stage.runtime.underWay).toBe(1);
  expect(stage.runtime.evicted).toEqual([]);
  stage.clock.advance(DAY_MS);
  for (const threadId of sleeping) await stage.untilStatus(threadId, 'done');
  await stage.threads.cancel(works);
});

test('many that sleep give up their turns after a second', async () => {
  const stage = openStill(MIXED, { concurrency: 40 });
  const all = await Promise.all(Array.from({ length: 40 }, () => stage.start({ payload: 'sleeps' })));
  for (const threadId of all) await stage.untilStatus(threadId, 'waiting');
  await expect.poll(() => stage.runtime.underWay).toBe(40);
  stage.clock.advance(1000);
  await expect.poll(() => stage.runtime.underWay).toBeLessThanOrEqual(16);
  stage.clock.advance(10_000);
  await expect.poll(() => stage.runtime.underWay).toBe(0);
  expect(stage.runtime.evicted.length).toBe(1);
});

test('a turn whose worker its host ended is made again, however often', async () => {
  const asked: (() => void)[] = [];
  const stage = openStage(oneRole(() => new Promise<void>((resolve) => void asked.push(resolve))));
  const threadId = await stage.start();
  for (let turns = 1; turns <= 8; turns += 1) {
    await expect.poll(() => asked.length).toBe(turns);
    stage.runtime.interrupt();
  }
  await expect.poll(() => asked.length).toBe(9);
  asked[8]?.();
  await stage.untilStatus(threadId, 'done');
});

test('a thread that is cancelled cancels its runs first, whether or not its role stops', async () => {
  const stage = openStill(oneRole(({ dispatch }) => dispatch({ task: 'fix it' })));
  const threadId = await stage.start();
  await stage.until(() => stage.ledger.runs().length === 1);
  await expect.poll(() => stage.ledger.thread(threadId)?.status).toBe('waiting');
  stage.runtime.isStubborn = true;
  const cancelled = stage.threads.cancel(threadId);
  await expect.poll(() => stage.cancelled).toEqual(stage.requests.map(({ runId }) => runId));
  expect(stage.ledger.thread(threadId)?.endedAt).toBeUndefined(); // no time has passed
  stage.clock.advance(2000);
  expect(await cancelled).toBe(true);
});

test('a run that is accepted after its thread was cancelled is cancelled, too', async () => {
  const stage = openStage(oneRole(({ dispatch }) => dispatch({ task: 'fix it' })));
  const gate = Promise.withResolvers<void>();
  stage.accepting.gate = gate.promise;
  const threadId = await stage.start();
  await expect.poll(() => stage.requests.length).toBe(1);
  expect(await stage.threads.cancel(threadId)).toBe(true);
  expect(stage.cancelled).toEqual([]);
  gate.resolve();
  await expect.poll(() => stage.cancelled).toEqual(stage.requests.map(({ runId }) => runId));
});

test('a thread whose workflow is not declared when its host starts is cancelled with its runs', async () => {
  const stage = openStage(oneRole(({ dispatch }) => dispatch({ task: 'fix it' })));
  const threadId = await stage.start();
  await stage.untilStatus(threadId, 'waiting');
  await stage.until(() => stage.ledger.runs().length === 1);
  await stage.kill();
  delete stage.workflows['fix'];
  const next = stage.openHost();
  await next.threads.recoverThreadsForWorker();
  expect(await next.threads.cancel(threadId)).toBe(true);
  expect(stage.cancelled).toEqual(stage.requests.map(({ runId }) => runId));
});

test.each([true, false])(
  'a thread whose host is killed between the end of its runs and its own is ended by the next one (declared: %s)',
  async (isDeclared) => {
    const stage = openStill(
      oneRole(async ({ dispatch, sleep }) => {
        await dispatch({ task: 'fix it' });
        await sleep(DAY_MS);
      }),
    );
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'waiting');
    await stage.until(() => stage.ledger.runs().length === 1);
    stage.runtime.isStubborn = true; // its role does not stop, so that its ending waits
    void stage.threads.cancel(threadId);
    await stage.until(() => stage.ledger.runs()[0]?.ending !== undefined);
    await stage.kill();
    if (!isDeclared) delete stage.workflows['fix'];
    await stage.openHost().threads.recoverThreadsForWorker();
    await stage.untilStatus(threadId, 'cancelled');
    expect(stage.ledger.kv.list('threads-given-up')).toEqual([]);
  },
);
