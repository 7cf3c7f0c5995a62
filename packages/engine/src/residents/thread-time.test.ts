/** What of a thread's life counts for its timeout. */
import { expect, onTestFinished, test } from 'vitest';
import { lockLedger } from '../ledger/fixtures/lock-ledger.ts';
import { settle } from './fixtures/open-runtime.ts';
import { oneRole, openStill } from './thread-stage.ts';
import { ThreadTimes } from './thread-time.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** A role that works until the test ends it. */
function openWorking(settings: { readonly concurrency?: number } = {}) {
  const asked: (() => void)[] = [];
  const stage = openStill(
    oneRole(() => new Promise<void>((resolve) => void asked.push(resolve))),
    settings,
  );
  const restart = async (): Promise<ReturnType<typeof stage.openHost>> => {
    const turns = asked.length;
    const host = stage.openHost();
    await host.threads.recoverThreadsForWorker();
    await expect.poll(() => asked.length).toBe(turns + 1);
    return host;
  };
  /** Without an order to give its role up. */
  const expectWork = async ({ runtime }: Pick<typeof stage, 'runtime'>): Promise<void> => {
    await settle();
    expect(runtime.underWay).toBe(1);
  };
  const leftOf = (threadId: string): unknown => stage.ledger.kv.get('thread-time-left', threadId);
  return { stage, asked, restart, expectWork, leftOf };
}

test('a night without a daemon, and a clock that is set forward, cost a thread no time', async () => {
  const { stage, asked, restart, expectWork, leftOf } = openWorking();
  const threadId = await stage.start();
  await expect.poll(() => asked.length).toBe(1);
  stage.clock.advance(30 * MINUTE_MS);
  await expect.poll(() => leftOf(threadId)).toBe(30 * MINUTE_MS);
  await stage.kill();
  stage.clock.advance(12 * HOUR_MS);
  const second = await restart();
  stage.clock.advance(29 * MINUTE_MS);
  await expectWork(second);
  await expect.poll(() => leftOf(threadId)).toBe(MINUTE_MS);
  await second.kill();
  const { wallMs } = stage.clock;
  stage.clock.wallMs = () => wallMs() + 24 * HOUR_MS;
  const third = await restart();
  stage.clock.advance(MINUTE_MS - 1);
  await expectWork(third);
  stage.clock.advance(1);
  expect(await stage.untilStatus(threadId, 'timeout')).toMatchObject({
    detail: 'its time of 3600000 ms is over',
  });
  stage.clock.advance(1000);
  await expect.poll(() => leftOf(threadId)).toBe(undefined);
});

test('what was left of a thread whose daemon was killed as it ended is removed by the next one', async () => {
  const { stage, asked, restart, leftOf } = openWorking({ concurrency: 2 });
  const [ended, living] = [await stage.start(), await stage.start()];
  await expect.poll(() => asked.length).toBe(2);
  stage.clock.advance(30 * MINUTE_MS);
  await expect.poll(() => [leftOf(ended), leftOf(living)]).toEqual([30 * MINUTE_MS, 30 * MINUTE_MS]);
  asked[0]?.();
  await stage.untilStatus(ended, 'done');
  await stage.kill();
  const next = await restart();
  stage.clock.advance(1000);
  await expect.poll(() => leftOf(ended)).toBe(undefined);
  expect(leftOf(living)).toBe(30 * MINUTE_MS);
  await next.kill();
});

test('a thread whose daemon is killed within its first minute is charged no downtime', async () => {
  const { stage, asked, restart, expectWork } = openWorking();
  const threadId = await stage.start();
  await expect.poll(() => asked.length).toBe(1);
  await stage.kill();
  stage.clock.advance(12 * HOUR_MS);
  const next = await restart();
  stage.clock.advance(HOUR_MS - 1);
  await expectWork(next);
  stage.clock.advance(1);
  await stage.untilStatus(threadId, 'timeout');
});

test('a thread whose daemons are killed within a minute, one after the other, is charged no downtime', async () => {
  let turns = 0;
  const stage = openStill(
    oneRole(async ({ step }) => {
      turns += 1;
      for (let turn = 0; turn < turns; turn += 1) await step(`turn ${turn}`, () => turn);
      await new Promise(() => undefined);
    }),
  );
  const threadId = await stage.start();
  const endedSteps = (): number =>
    stage.ledger.read({ runId: threadId, types: ['thread.step-ended'] }).length;
  await expect.poll(endedSteps).toBe(1);
  let host: Pick<typeof stage, 'threads' | 'runtime' | 'kill'> = stage;
  for (const steps of [2, 3]) {
    await host.kill();
    stage.clock.advance(12 * HOUR_MS);
    host = stage.openHost();
    await host.threads.recoverThreadsForWorker();
    await expect.poll(endedSteps).toBe(steps);
  }
  stage.clock.advance(HOUR_MS - 61_000 - 1);
  await settle();
  expect(host.runtime.underWay).toBe(1);
  stage.clock.advance(1);
  await stage.untilStatus(threadId, 'timeout');
});

/** Of threads whose workflow is blocked at once. */
async function openBlocked(threads: number) {
  const { stage, asked, leftOf } = openWorking({ concurrency: threads });
  const ids: string[] = [];
  for (let count = 0; count < threads; count += 1) ids.push(await stage.start());
  await expect.poll(() => asked.length).toBe(threads);
  const block = async (): Promise<void> => {
    stage.runtime.state = 'blocked';
    stage.runtime.crash();
    await settle();
  };
  return { stage, ids, block, left: () => ids.map(leftOf) };
}

test('what is left of threads that pause and go on all the time is one commit a second', async () => {
  const { stage, ids, block, left } = await openBlocked(8);
  await block();
  stage.clock.advance(1000);
  await expect.poll(left).toEqual(ids.map(() => HOUR_MS));
  const { clock, ledger } = stage;
  let commits = 0;
  const alone = <T>(work: () => T): T => {
    commits += 1;
    return ledger.alone(work);
  };
  const times = new ThreadTimes({ clock, ledger: { ...ledger, alone }, warn: expect.unreachable });
  const counted = ledger.threads().map((row) => times.open(row, () => undefined));
  for (let turns = 0; turns < 10; turns += 1) {
    for (const each of counted) each.count();
    clock.advance(100);
    for (const each of counted) each.pause();
  }
  clock.advance(1000);
  await expect.poll(left).toEqual(ids.map(() => HOUR_MS - 1000));
  expect(commits).toBe(1);
});

test('while another process has the ledger, a pause of a thread holds no event loop, and is written later', async () => {
  const { stage, ids, block, left } = await openBlocked(2);
  const unlock = lockLedger(stage.file);
  onTestFinished(unlock);
  const sinceMs = performance.now();
  stage.clock.advance(30_000);
  await block();
  stage.clock.advance(1000);
  await settle();
  expect(performance.now() - sinceMs).toBeLessThan(500);
  expect(left()).toEqual([undefined, undefined]);
  unlock();
  await expect.poll(left).toEqual(ids.map(() => HOUR_MS - 30_000));
});

test('a host that ends writes what is left at once', async () => {
  const { stage, ids, left } = await openBlocked(2);
  stage.clock.advance(30_000);
  const stopped = stage.stop();
  await settle();
  stage.clock.advance(10_000); // for which it waits for the roles
  await stopped;
  expect(left()).toEqual(ids.map(() => HOUR_MS - 40_000));
});

test('a run that a thread waits for counts, also while its key is blocked', async () => {
  const stage = openStill(oneRole(({ dispatch }) => dispatch({ task: 'Look' })));
  const threadId = await stage.start();
  await stage.untilStatus(threadId, 'waiting');
  await expect.poll(() => stage.requests.length).toBe(1);
  await settle();
  stage.runtime.state = 'blocked';
  stage.runtime.crash();
  await settle();
  stage.clock.advance(HOUR_MS);
  await stage.untilStatus(threadId, 'timeout');
  expect(stage.cancelled).toEqual([stage.requests[0]?.runId]);
});

test('time does not count while its key is blocked', async () => {
  const { stage, asked, expectWork, leftOf } = openWorking();
  const threadId = await stage.start();
  await expect.poll(() => asked.length).toBe(1);
  stage.clock.advance(30 * MINUTE_MS);
  stage.runtime.state = 'blocked';
  stage.runtime.crash();
  await expect.poll(() => stage.clock.pendingTimers()).toBe(1); // what is left is to be written
  stage.clock.advance(1000);
  await expect.poll(() => leftOf(threadId)).toBe(30 * MINUTE_MS);
  expect(stage.clock.pendingTimers()).toBe(0);
  stage.clock.advance(12 * HOUR_MS);
  await stage.runtime.reset();
  await stage.threads.recoverThreadsForWorker('fix');
  await expect.poll(() => asked.length).toBe(2);
  stage.clock.advance(30 * MINUTE_MS - 1);
  await expectWork(stage);
  stage.clock.advance(1);
  await stage.untilStatus(threadId, 'timeout');
});
