import type { Workflow } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';
import { oneRole, openStage, openStill } from './thread-stage.ts';

const DAY_MS = 86_400_000;

describe('a role that runs an agent', () => {
  test('gives it no more than the workflow may, and gets its ending', async () => {
    const stage = openStage(oneRole(({ dispatch }) => dispatch({ task: 'fix it', agent: 'fixer' })));
    const threadId = await stage.start();
    await stage.until(() => stage.ledger.runs().length === 1);
    const [{ runId = '' } = {}] = stage.requests;
    expect(stage.requests).toEqual([
      {
        task: 'fix it',
        agent: 'fixer',
        runId,
        session: threadId,
        idempotencyKey: `${threadId}.0.0`,
        parent: {
          runId: threadId,
          grant: {
            mode: 'auto-edit',
            read: ['/'],
            write: ['/project'],
            hosts: ['registry.example:443'],
            tools: ['*'],
            limits: {},
            budget: { usd: 2 },
            depth: 3,
            sandbox: 'bwrap',
          },
        },
      },
    ]);
    expect(stage.ledger.thread(threadId)?.waitsFor).toEqual([
      { ordinal: 0, kind: 'dispatch', runIds: [runId] },
    ]);
    await stage.endRun(runId);
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)).toMatchObject({
      runs: [runId],
      messages: [{ content: { runId, status: 'done', reply: `reply of ${runId}`, patchBytes: 0 } }],
    });
  });

  test('keeps the work of a run that it started, and of no other', async () => {
    const stage = openStage(
      oneRole(async ({ dispatch, start }) => {
        const first = await start({ task: 'a' });
        await start({ task: 'b', keepWork: first });
        const refused = ['run_00000000000000000000', ''].map((keepWork) =>
          dispatch({ task: 'c', keepWork }).catch((error: Error) => error.message),
        );
        return Promise.all(refused);
      }),
    );
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'done');
    expect(stage.requests.map(({ task }) => task)).toEqual(['a', 'b']);
    expect(stage.threads.show(threadId)?.messages[0]?.content).toEqual([
      'keepWork: "run_00000000000000000000" is not a run that this thread has started',
      'keepWork: "" is not a run that this thread has started',
    ]);
  });

  test('waits for several that it started, and for no other', async () => {
    const stage = openStage(
      oneRole(async ({ start, wait }) => {
        const runIds = [await start({ task: 'a' }), await start({ task: 'b' })];
        const foreign = await wait(['run_00000000000000000000']).catch((error: Error) => error.message);
        return { foreign, ended: await wait(runIds) };
      }),
    );
    const threadId = await stage.start();
    await stage.until(() => stage.ledger.thread(threadId)?.waitsFor?.[0]?.kind === 'wait');
    for (const { runId = '' } of stage.requests) await stage.endRun(runId);
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)?.messages[0]?.content).toMatchObject({
      foreign: 'run_00000000000000000000 is not a run that this thread has started',
      ended: [{ status: 'done' }, { status: 'done' }],
    });
  });

  test('cannot ask for what a role may not', async () => {
    const asked = { task: 'x', sandbox: 'none' };
    const stage = openStage(
      oneRole(({ dispatch }) => dispatch(asked).then(String, (error: Error) => error.message)),
    );
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)?.messages[0]?.content).toMatch('a run of a role has no "sandbox"');
    expect(stage.requests).toEqual([]);
  });
});

describe('a role that asks a person', () => {
  test('goes on with the answer that caisson answer records', async () => {
    const stage = openStage(oneRole(({ ask }) => ask('red or blue?', { options: ['red', 'blue'] })));
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'waiting');
    expect(await stage.questions.list({ status: 'open' })).toMatchObject([
      { runId: threadId, text: 'red or blue?', options: ['red', 'blue'] },
    ]);
    expect(await stage.questions.answer(threadId, 'blue')).toBeNull();
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)?.messages).toMatchObject([{ content: 'blue' }]);
    await expect(stage.questions.answer(threadId, 'red')).rejects.toThrow('was answered already');
  });

  test('gets an error when nobody answers in time', async () => {
    const stage = openStill(
      oneRole(({ ask }) => ask('which?', { deadlineMs: 5000 }).catch((error: Error) => error.message)),
    );
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'waiting');
    stage.clock.advance(5000);
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)?.messages).toMatchObject([{ content: 'nobody answered in time' }]);
    expect(stage.ledger.questions()).toMatchObject([{ status: 'expired' }]);
  });
});

test('a clock that is set back makes neither the time for an answer longer nor that of a thread', async () => {
  const asking = oneRole(({ ask }) => ask('which?', { deadlineMs: 5000 }).catch(() => 'nobody'));
  const asks = openStill(asking);
  const asked = await asks.start();
  await asks.untilStatus(asked, 'waiting');
  asks.clock.stepWall(asks.clock.wallMs() - DAY_MS);
  asks.clock.advance(5000);
  await asks.untilStatus(asked, 'done');
  expect(asks.ledger.questions()).toMatchObject([{ status: 'expired' }]);

  const works = openStill(
    oneRole(({ dispatch }) => dispatch({ task: 'x' })),
    { timeoutMs: 60_000 },
  );
  const late = await works.start();
  await works.until(() => works.ledger.runs().length === 1);
  works.clock.advance(50_000);
  works.clock.stepWall(works.clock.wallMs() - DAY_MS);
  works.clock.advance(10_000);
  await works.untilStatus(late, 'timeout');
  expect(works.cancelled).toEqual(works.requests.map(({ runId }) => runId));
  expect(works.ledger.read({ runId: late, types: ['thread.ended'] })).toHaveLength(1);
});

describe('a role that sleeps', () => {
  test('needs no worker, and the next host wakes it', async () => {
    const stage = openStill(
      oneRole(async ({ sleep, step }) => {
        await sleep(3 * DAY_MS);
        return step('woke', () => 'up');
      }),
    );
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'waiting');
    expect(stage.runtime.evicted).toEqual([]);
    stage.clock.advance(10_000);
    expect(stage.runtime.evicted).toEqual(['workflow.fix']);
    await expect.poll(() => stage.runtime.underWay).toBe(0);
    await stage.stop();
    const next = stage.openHost();
    await next.threads.recoverThreadsForWorker();
    stage.clock.advance(DAY_MS);
    expect(next.runtime.orders).toEqual([]);
    stage.clock.advance(2 * DAY_MS);
    await stage.untilStatus(threadId, 'done');
    expect(next.runtime.orders.map(({ round }) => round)).toEqual([0, 1]);
    expect(next.threads.show(threadId)?.messages).toMatchObject([{ content: 'up' }]);
  });

  test('wakes soon after the clock was set forward', async () => {
    const stage = openStill(oneRole(({ sleep }) => sleep(DAY_MS)));
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'waiting');
    stage.clock.stepWall(stage.clock.wallMs() + 2 * DAY_MS);
    stage.clock.advance(30_000);
    await stage.untilStatus(threadId, 'done');
  });

  test('wakes in time when the clock was set back meanwhile, also in the next host', async () => {
    const stage = openStill(oneRole(({ sleep }) => sleep(DAY_MS)));
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'waiting');
    stage.clock.stepWall(stage.clock.wallMs() - 3 * DAY_MS);
    stage.clock.advance(DAY_MS - 1);
    expect(stage.ledger.thread(threadId)?.status).toBe('waiting');
    stage.clock.advance(1);
    await stage.untilStatus(threadId, 'done');
    // What the next host knows is the recorded time; the clock is set back while nobody waits, and forward again.
    const second = await stage.start();
    await stage.untilStatus(second, 'waiting');
    await stage.stop();
    stage.clock.stepWall(stage.clock.wallMs() - DAY_MS);
    const next = stage.openHost();
    await next.threads.recoverThreadsForWorker();
    stage.clock.advance(DAY_MS);
    expect(stage.ledger.thread(second)?.status).toBe('waiting');
    stage.clock.stepWall(stage.clock.wallMs() + DAY_MS);
    stage.clock.advance(30_000);
    await stage.untilStatus(second, 'done');
    for (const each of [threadId, second])
      expect(stage.ledger.read({ runId: each, types: ['thread.ended'] })).toHaveLength(1);
  });

  test('beside another step goes on with whichever is over first, also after its worker was evicted', async () => {
    const stage = openStill(
      oneRole(async ({ sleep, ask }) => Promise.race([sleep(DAY_MS).then(() => 'slept'), ask('now?')])),
    );
    const threadId = await stage.start();
    await stage.until(() => stage.ledger.thread(threadId)?.waitsFor?.length === 2);
    stage.clock.advance(10_000);
    expect(stage.runtime.evicted).toHaveLength(1);
    await stage.questions.answer(threadId, 'yes');
    await stage.until(() => {
      stage.clock.advance(250); // the feed looks again for what other processes recorded
      return stage.ledger.thread(threadId)?.status === 'done';
    });
    expect(stage.threads.show(threadId)?.messages).toMatchObject([{ content: 'yes' }]);
  });
});

describe('a role that goes on with the first of several steps', () => {
  const racing = oneRole(async ({ sleep, ask, dispatch }) => {
    const first = await Promise.race([sleep(DAY_MS).then(() => 'slept'), ask('now?')]);
    const { status } = await dispatch({ task: first });
    return [first, status];
  });
  /** It slept, and its run is under way; then the question is answered. */
  async function openRace() {
    const stage = openStill(racing);
    const threadId = await stage.start();
    await stage.until(() => stage.ledger.thread(threadId)?.waitsFor?.length === 2);
    stage.clock.advance(DAY_MS);
    await stage.until(() => stage.requests.length === 1);
    const answer = async (): Promise<void> => {
      await stage.questions.answer(threadId, 'yes');
      await stage.until(() => {
        stage.clock.advance(250); // the feed looks again for what other processes recorded
        return stage.ledger.read({ runId: threadId, types: ['thread.step-ended'] }).length === 2;
      });
    };
    const finish = async (): Promise<unknown> => {
      const [{ runId = '' } = {}] = stage.requests;
      await stage.endRun(runId);
      await stage.until(() => {
        stage.clock.advance(250);
        return stage.ledger.thread(threadId)?.endedAt !== undefined;
      });
      return stage.threads.show(threadId);
    };
    const done = { status: 'done', messages: [{ content: ['slept', 'done'] }] };
    return { stage, answer, finish, done };
  }

  test('does so again when its worker ended, and another step was over meanwhile', async () => {
    const { stage, answer, finish, done } = await openRace();
    await answer();
    stage.runtime.crash();
    expect(await finish()).toMatchObject(done);
    expect(stage.requests.map(({ task }) => task)).toEqual(['slept']);
  });

  test('does so again in the next host, which knows of the steps from the ledger', async () => {
    const { stage, answer, finish, done } = await openRace();
    await answer();
    await stage.kill();
    await stage.openHost().threads.recoverThreadsForWorker();
    expect(await finish()).toMatchObject(done);
    expect(stage.requests.map(({ task }) => task)).toEqual(['slept']);
  });
});

describe('a role that works on a step of its own beside one that is open', () => {
  /** A role that polls for longer than an idle turn is kept, beside a sleep. */
  function openPolling(settings = {}) {
    const gate = Promise.withResolvers<void>();
    const polls = { begun: 0 };
    const stage = openStill(
      oneRole(({ step, sleep }) =>
        Promise.race([
          sleep(3_600_000).then(() => 'slept'),
          step('poll', async () => {
            polls.begun += 1;
            await gate.promise;
            return 'polled';
          }),
        ]),
      ),
      settings,
    );
    return { stage, polls, gate };
  }
  const isPolling = ({ ledger }: ReturnType<typeof openStill>, threadId: string): boolean =>
    ledger.thread(threadId)?.waitsFor?.length === 2;

  test('keeps its turn until that work is over, and gives it up then', async () => {
    const { stage, polls, gate } = openPolling();
    const threadId = await stage.start();
    await stage.until(() => isPolling(stage, threadId));
    expect(stage.ledger.thread(threadId)?.status).toBe('running');
    stage.clock.advance(60_000);
    expect(stage.runtime.evicted).toEqual([]);
    gate.resolve();
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)?.messages).toMatchObject([{ content: 'polled' }]);
    expect(polls.begun).toBe(1);
  });

  test('is over when its time is, since that work counts', async () => {
    const { stage } = openPolling({ timeoutMs: 60_000, graceMs: 1 });
    const threadId = await stage.start();
    await stage.until(() => isPolling(stage, threadId));
    stage.clock.advance(59_000);
    expect(stage.ledger.thread(threadId)?.status).toBe('running');
    stage.clock.advance(1000);
    await stage.untilStatus(threadId, 'timeout');
  });

  test('gets its turn again when its worker ended, and from the next host', async () => {
    const { stage, polls, gate } = openPolling();
    const threadId = await stage.start();
    await stage.until(() => isPolling(stage, threadId));
    stage.runtime.crash();
    await expect.poll(() => polls.begun).toBe(2);
    await stage.kill();
    const next = stage.openHost();
    await next.threads.recoverThreadsForWorker();
    await expect.poll(() => polls.begun).toBe(3);
    gate.resolve();
    await stage.untilStatus(threadId, 'done');
    expect(next.threads.show(threadId)?.messages).toMatchObject([{ content: 'polled' }]);
  });

  test('finishes that work when the host stops', async () => {
    const { stage, gate } = openPolling();
    const threadId = await stage.start();
    await stage.until(() => isPolling(stage, threadId));
    const stopped = stage.stop();
    gate.resolve();
    await stopped;
    expect(stage.ledger.read({ runId: threadId, types: ['thread.step-ended'] })).toMatchObject([
      { data: { ordinal: 1, value: 'polled' } },
    ]);
  });

  test('is over when that work fails, also for a role that is repeated', async () => {
    let tries = 0;
    const stage = openStage(
      oneRole(async ({ step, ask }) => {
        const first = await step('breaks', () => {
          throw new Error(`broken ${(tries += 1)}`);
        }).catch((error: Error) => error.message);
        return [first, await ask('go on?')];
      }),
    );
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'waiting');
    stage.runtime.crash();
    await stage.questions.answer(threadId, 'yes');
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)?.messages).toMatchObject([{ content: ['broken 1', 'yes'] }]);
  });
});

describe('a role with large results of steps', () => {
  /** Remembers so many values of 60 KB, and asks. */
  const openLarge = () =>
    openStage(
      oneRole(async ({ payload, step, ask }) => {
        for (let n = 0; n < Number(payload); n += 1) await step(`value ${n}`, () => 'x'.repeat(60_000));
        return ask('go on?');
      }),
    );

  test('goes on from them after its worker ended', async () => {
    const stage = openLarge();
    const threadId = await stage.start({ payload: 20 });
    await stage.untilStatus(threadId, 'waiting');
    stage.runtime.crash();
    await stage.questions.answer(threadId, 'yes');
    await stage.untilStatus(threadId, 'done');
  });

  test('fails as soon as they are more than a turn may begin with', async () => {
    const stage = openLarge();
    const threadId = await stage.start({ payload: 1000 });
    expect((await stage.untilStatus(threadId, 'failed')).detail).toBe(
      'the steps of one round have together more than 2097152 bytes: remember less',
    );
    const ended = stage.ledger.read({ runId: threadId, types: ['thread.step-ended'] });
    expect(ended.length).toBe(Math.ceil((2 * 1024 ** 2) / 60_002));
  });

  test('that waits for many runs gets a shorter reply of each', async () => {
    const stage = openStage(
      oneRole(async ({ start, wait }) => {
        const runIds = [];
        for (let n = 0; n < 64; n += 1) runIds.push(await start({ task: `${n}` }));
        const lengths = (await wait(runIds)).map(({ reply }) => reply.length);
        return [...new Set(lengths)];
      }),
    );
    stage.reply.text = 'x'.repeat(40_000);
    const threadId = await stage.start();
    await stage.until(() => stage.ledger.thread(threadId)?.waitsFor?.[0]?.kind === 'wait');
    for (const { runId = '' } of stage.requests) await stage.endRun(runId);
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)?.messages[0]?.content).toEqual([4097]);
  });
});

describe('a guest that obeys no limit of its own', () => {
  /** What it asks for, as the ledger has it. */
  const recordedBytes = ({ ledger }: ReturnType<typeof openStage>, threadId: string): number =>
    ledger.read({ runId: threadId }).reduce((sum, { data }) => sum + JSON.stringify(data).length, 0);

  test('is refused a request of more than 256 KiB, which is not recorded', async () => {
    const stage = openStage(oneRole(({ start }) => start({ task: 'x'.repeat(300_000) })));
    const threadId = await stage.start();
    expect((await stage.untilStatus(threadId, 'crashed')).detail).toMatch(
      'its step 0: a request of more than',
    );
    expect(stage.requests).toEqual([]);
  });

  test('records no more requests than a round may have bytes', async () => {
    const stage = openStage(
      oneRole(async ({ start }) => {
        for (;;) await start({ task: 'x'.repeat(200_000) });
      }),
    );
    const threadId = await stage.start();
    expect((await stage.untilStatus(threadId, 'failed')).detail).toMatch(
      'the steps of one round have together',
    );
    expect(stage.requests).toHaveLength(10);
  });

  /** Its host is killed while it sleeps for a second. */
  const restartAsleep = async (stage: ReturnType<typeof openStill>, threadId: string): Promise<void> => {
    await stage.until(() => stage.ledger.thread(threadId)?.waitsFor?.[0]?.kind === 'sleep');
    await stage.kill();
    await stage.openHost().threads.recoverThreadsForWorker();
    stage.clock.advance(1000);
  };
  const task = 'x'.repeat(200_000);

  test('records no more requests than a round may have bytes, also when its host is killed', async () => {
    const stage = openStill(
      oneRole(async ({ start, sleep }) => {
        for (let asked = 0; ; asked += 1) await (asked === 5 ? sleep(1000) : start({ task }));
      }),
    );
    const threadId = await stage.start();
    await restartAsleep(stage, threadId);
    expect((await stage.untilStatus(threadId, 'failed')).detail).toMatch(
      'the steps of one round have together',
    );
    expect(stage.requests).toHaveLength(10);
  });

  test('has 64 open questions at most', async () => {
    const stage = openStage(
      oneRole(async ({ ask }) => {
        const asked = Array.from({ length: 70 }, (_, n) =>
          ask(`question ${n}`).catch((error: Error) => error.message),
        );
        return Promise.race(asked);
      }),
    );
    const threadId = await stage.start();
    await stage.untilStatus(threadId, 'done');
    expect(stage.threads.show(threadId)?.messages).toMatchObject([
      { content: 'a thread has at most 64 open questions' },
    ]);
    expect(await stage.questions.list({})).toHaveLength(64);
  });

  test('records no more in all rounds than a thread may have bytes', { timeout: 120_000 }, async () => {
    const role: Workflow['roles'][string] = async ({ step }) => {
      const large = 'x'.repeat(60_000);
      for (let n = 0; n < 30; n += 1) await step(`value ${n}`, () => large);
      return null;
    };
    const stage = openStage({ fix: { roles: { role }, route: () => 'role' } }, { maxRounds: 100 });
    const threadId = await stage.start();
    expect((await stage.untilStatus(threadId, 'failed', 'too-long')).detail).toMatch(
      'the steps of all its rounds',
    );
    expect(recordedBytes(stage, threadId)).toBeLessThan(33 * 1024 ** 2);
  });

  test(
    'asks for no more than a thread may have bytes, also when its host is killed',
    { timeout: 120_000 },
    async () => {
      const role: Workflow['roles'][string] = async ({ round, start, sleep }) => {
        if (round === 10) await sleep(1000);
        for (let asked = 0; asked < 9; asked += 1) await start({ task });
        return null;
      };
      const stage = openStill({ fix: { roles: { role }, route: () => 'role' } }, { maxRounds: 100 });
      const threadId = await stage.start();
      await restartAsleep(stage, threadId);
      expect((await stage.untilStatus(threadId, 'failed', 'too-long')).detail).toMatch(
        'the steps of all its rounds',
      );
      expect(stage.requests.length * task.length).toBeLessThan(32 * 1024 ** 2);
    },
  );
});

test('a step that the host cannot handle ends its thread, and no other', async () => {
  const deep: unknown = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000));
  const stage = openStage(
    oneRole(({ payload, step }) => (payload === 'deep' ? step('deep', () => deep) : 'fine')),
  );
  const broken = await stage.start({ payload: 'deep' });
  expect(await stage.untilStatus(broken, 'crashed')).toMatchObject({
    detail: 'its step 0 cannot be carried out: Maximum call stack size exceeded',
  });
  await stage.untilStatus(await stage.start({ payload: 'other' }), 'done');
});
