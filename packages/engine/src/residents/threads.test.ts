import type { Workflow } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';
import { oneRole, openStage, openStill, USER } from './thread-stage.ts';

const typesOf = (stage: ReturnType<typeof openStage>, threadId: string): string[] =>
  stage.ledger.read({ runId: threadId }).map(({ type }) => type);

describe('a thread', () => {
  const TWO: Record<string, Workflow> = {
    fix: {
      roles: {
        first: ({ payload }) => ({ saw: payload }),
        second: ({ messages, round }) => `${messages.length} before round ${round}`,
      },
      route: ({ messages }) => ['first', 'second'][messages.length] ?? null,
    },
  };

  test('goes through its roles, message by message, to its end', async () => {
    const stage = openStage(TWO);
    const threadId = await stage.start({ payload: 'red' });
    expect(threadId).toMatch(/^thread_[0-9a-z]{20}$/);
    expect(await stage.untilStatus(threadId, 'done')).toMatchObject({ rounds: 2, lastRole: 'second' });
    expect(stage.threads.show(threadId)).toMatchObject({
      payload: 'red',
      messages: [
        { round: 0, role: 'first', content: { saw: 'red' } },
        { round: 1, role: 'second', content: '1 before round 1' },
      ],
    });
    expect(typesOf(stage, threadId)).toEqual([
      'thread.accepted',
      'thread.started',
      'thread.message',
      'thread.message',
      'thread.ended',
    ]);
    expect(stage.ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
  });

  test('is started once for an idempotency key', async () => {
    const stage = openStage(TWO);
    const start = { workflow: 'fix', ...USER, idempotencyKey: 'slot 1' };
    const all = await Promise.all([1, 2, 3].map(() => stage.threads.start(start)));
    expect(new Set(all.map((started) => JSON.stringify(started))).size).toBe(1);
    expect(stage.ledger.threads()).toHaveLength(1);
  });

  test('continues an ended one with its messages and its payload', async () => {
    const stage = openStage(TWO);
    const causes = [{ signalId: 'signal_1', name: 'changed', sense: 'look' }];
    const trigger = { kind: 'signal', name: 'red', signalId: 'signal_2', sense: 'tests' } as const;
    const first = await stage.start({ payload: 'red', trigger, causes });
    await stage.untilStatus(first, 'done');
    const second = await stage.start({ payload: undefined, continues: first });
    expect(await stage.untilStatus(second, 'done')).toMatchObject({ rounds: 0, continues: first });
    expect(stage.runtime.orders.at(-1)).toMatchObject({
      round: 2,
      payload: 'red',
      messages: [{ role: 'first' }, { role: 'second' }],
    });
    expect(stage.threads.show(second)?.causes).toEqual([
      ...causes,
      { signalId: 'signal_2', name: 'red', sense: 'tests' },
    ]);
    await expect(stage.start({ continues: 'thread_x' })).rejects.toThrow('has no thread');
  });

  test('of a role that throws ends as failed, and says why', async () => {
    const stage = openStage(
      oneRole(() => {
        throw new Error('no luck');
      }),
    );
    const threadId = await stage.start();
    expect(await stage.untilStatus(threadId, 'failed')).toMatchObject({ detail: 'role threw: no luck' });
  });

  test('has no more messages than it may', async () => {
    const workflow: Workflow = { roles: { again: () => 'x' }, route: () => 'again' };
    const stage = openStage({ fix: workflow }, { maxRounds: 3 });
    const threadId = await stage.start();
    expect(await stage.untilStatus(threadId, 'too-long')).toMatchObject({ rounds: 3 });
    const enough: Workflow = { ...workflow, route: ({ messages }) => (messages.length < 3 ? 'again' : null) };
    const other = openStage({ fix: enough }, { maxRounds: 3 });
    expect(await other.untilStatus(await other.start(), 'done', 'too-long')).toMatchObject({
      status: 'done',
    });
  });

  test('whose message is too large ends as failed', async () => {
    const stage = openStage(oneRole(() => 'x'.repeat(70_000)));
    expect(await stage.untilStatus(await stage.start(), 'failed')).toMatchObject({
      detail: 'the message of role is larger than 65536 bytes',
    });
  });

  test('is cancelled when its time is over, without the time that it slept', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const role = async ({ sleep }: { sleep(ms: number): Promise<void> }): Promise<void> => {
      await sleep(86_400_000);
      resolve();
      await new Promise(() => undefined);
    };
    const stage = openStill(oneRole(role), { timeoutMs: 60_000, graceMs: 1 });
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'waiting');
    stage.clock.advance(86_400_000);
    await promise;
    expect(stage.ledger.thread(threadId)).toMatchObject({ status: 'running', pausedMs: 86_400_000 });
    stage.clock.advance(59_000);
    expect(stage.ledger.thread(threadId)).toMatchObject({ status: 'running' });
    stage.clock.advance(1000);
    await stage.untilStatus(threadId, 'timeout');
  });
});

describe('a worker that ends', () => {
  test('costs its turn nothing but time: it is made again from its recorded steps', async () => {
    let values = 0;
    const stage = openStage(
      oneRole(async ({ step, dispatch }) => {
        const value = await step('count', () => (values += 1));
        const { runId } = await dispatch({ task: 'fix it' });
        return { value, runId };
      }),
    );
    const threadId = await stage.start();
    await stage.until(() => stage.requests.length === 1);
    await stage.untilStatus(threadId, 'waiting');
    stage.runtime.crash();
    const [{ runId = '' } = {}] = stage.requests;
    await stage.endRun(runId);
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)?.messages).toMatchObject([{ content: { value: 1, runId } }]);
    expect(values).toBe(1);
    expect(stage.requests).toHaveLength(1);
    expect(stage.runtime.orders.map(({ round }) => round)).toEqual([0, 0, 1]);
  });

  test('again and again in the same turn ends its thread as crashed', async () => {
    const asked: (() => void)[] = [];
    const stage = openStage(oneRole(() => new Promise<void>((resolve) => void asked.push(resolve))));
    const threadId = await stage.start();
    for (let turns = 1; turns <= 4; turns += 1) {
      await expect.poll(() => asked.length).toBe(turns);
      stage.runtime.crash();
    }
    const { detail } = await stage.untilStatus(threadId, 'crashed');
    expect(detail).toBe('its worker ended, or could not begin it, 4 times in this turn: the worker ended');
  });

  test('and whose role then asks for something else ends its thread as crashed', async () => {
    let ms = 1_000_000;
    const stage = openStill(oneRole(({ sleep }) => sleep((ms += 1))));
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'waiting');
    stage.runtime.crash();
    stage.clock.advance(2_000_000);
    expect(await stage.untilStatus(threadId, 'crashed')).toMatchObject({
      detail: expect.stringMatching(
        /^step 0 \(sleep\) .* ms was 1000001 and is 1000002 now\..* step\(name, work\)/,
      ),
    });
  });

  test('and is blocked keeps its threads until it may work again', async () => {
    const stage = openStage(oneRole(() => 'x'));
    stage.runtime.state = 'blocked';
    const threadId = await stage.start();
    await expect.poll(() => stage.runtime.orders.length).toBe(1);
    await stage.runtime.reset();
    await stage.threads.recoverThreadsForWorker('fix');
    await stage.untilStatus(threadId, 'done');
  });
});

describe('a start without a free place', () => {
  /** Ends when the test says so. */
  const openHeld = (settings: Parameters<typeof openStage>[1]) => {
    const held: (() => void)[] = [];
    const stage = openStage(
      oneRole(() => new Promise<void>((resolve) => void held.push(resolve))),
      settings,
    );
    return { stage, held };
  };

  test('waits for its turn, and is dropped when too many wait', async () => {
    const { stage, held } = openHeld({ maxQueue: 1 });
    const [first, second] = [await stage.start(), await stage.start()];
    expect(await stage.threads.start({ workflow: 'fix', ...USER })).toEqual({ dropped: 'overflow' });
    expect(stage.threads.count('fix')).toEqual({ active: 1, queued: 1 });
    expect(stage.ledger.thread(second)).toMatchObject({ status: 'queued' });
    await expect.poll(() => held.length).toBe(1);
    held[0]?.();
    await stage.untilStatus(first, 'done');
    await expect.poll(() => held.length).toBe(2);
    held[1]?.();
    await stage.untilStatus(second, 'done');
    await expect.poll(() => stage.threads.count('fix')).toEqual({ active: 0, queued: 0 });
  });

  test.each([
    ['drop', { dropped: 'overflow' }],
    ['reject', { dropped: 'rejected' }],
  ] as const)('is not accepted with %s', async (overflow, answer) => {
    const { stage } = openHeld({ overflow });
    const first = await stage.start();
    expect(await stage.threads.start({ workflow: 'fix', ...USER })).toEqual(answer);
    expect(stage.ledger.threads()).toHaveLength(1);
    await stage.threads.cancel(first);
  });

  test('takes the place of the one that waits longest', async () => {
    const { stage } = openHeld({ overflow: 'replace-oldest', maxQueue: 2 });
    const ids = [];
    for (let index = 0; index < 4; index += 1) ids.push(await stage.start());
    expect(stage.ledger.threads().map(({ status }) => status)).toEqual([
      'running',
      'replaced',
      'queued',
      'queued',
    ]);
    for (const threadId of ids.toReversed()) await stage.threads.cancel(threadId);
  });

  test('of a workflow that nobody declared is refused', async () => {
    const { stage } = openHeld({});
    await expect(stage.start({ workflow: 'none' })).rejects.toThrow('there is no workflow none');
  });
});

describe('a cancelled thread', () => {
  test('that waits for its turn never starts', async () => {
    const stage = openStage(oneRole(({ sleep }) => sleep(1_000_000)));
    const [first, second] = [await stage.start(), await stage.start()];
    expect(await stage.threads.cancel(second)).toBe(true);
    expect(await stage.threads.cancel(second)).toBe(false);
    expect(typesOf(stage, second)).toEqual(['thread.accepted', 'thread.ended']);
    expect(await stage.threads.cancel(first)).toBe(true);
  });

  test('takes the runs that it waits for with it, and closes its questions', async () => {
    const stage = openStage(
      oneRole(async ({ dispatch, ask }) => Promise.all([dispatch({ task: 'fix it' }), ask('which?')])),
    );
    const threadId = await stage.start();
    await stage.until(() => stage.ledger.runs().length === 1);
    await stage.until(() => stage.ledger.questions({ status: 'open' }).length === 1);
    expect(await stage.threads.cancel(threadId)).toBe(true);
    expect(stage.cancelled).toEqual(stage.requests.map(({ runId }) => runId));
    expect(stage.ledger.questions()).toMatchObject([{ status: 'expired' }]);
    expect(stage.ledger.thread(threadId)).toMatchObject({ status: 'cancelled' });
  });
});
