/** What of a thread's life counts for its timeout. */
import { expect, test } from 'vitest';
import { settle } from './fixtures/open-runtime.ts';
import { oneRole, openStill } from './thread-stage.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** A role that works until the test ends it. */
function openWorking() {
  const asked: (() => void)[] = [];
  const stage = openStill(oneRole(() => new Promise<void>((resolve) => void asked.push(resolve))));
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
  return { stage, asked, restart, expectWork };
}

test('a night without a daemon, and a clock that is set forward, cost a thread no time', async () => {
  const { stage, asked, restart, expectWork } = openWorking();
  const threadId = await stage.start();
  await expect.poll(() => asked.length).toBe(1);
  stage.clock.advance(30 * MINUTE_MS);
  await stage.kill();
  stage.clock.advance(12 * HOUR_MS);
  const second = await restart();
  stage.clock.advance(29 * MINUTE_MS);
  await expectWork(second);
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
  expect(stage.ledger.kv.list('thread-time-left')).toEqual([]);
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

test('time does not count while its key is blocked', async () => {
  const { stage, asked, expectWork } = openWorking();
  const threadId = await stage.start();
  await expect.poll(() => asked.length).toBe(1);
  stage.clock.advance(30 * MINUTE_MS);
  stage.runtime.state = 'blocked';
  stage.runtime.crash();
  await expect.poll(() => stage.ledger.kv.get('thread-time-left', threadId)).toBe(30 * MINUTE_MS);
  await expect.poll(() => stage.clock.pendingTimers()).toBe(0);
  stage.clock.advance(12 * HOUR_MS);
  await stage.runtime.reset();
  await stage.threads.recoverThreadsForWorker('fix');
  await expect.poll(() => asked.length).toBe(2);
  stage.clock.advance(30 * MINUTE_MS - 1);
  await expectWork(stage);
  stage.clock.advance(1);
  await stage.untilStatus(threadId, 'timeout');
});
