// Hosts die at random while 200 threads run, sleep, and wait for runs and answers: each thread ends once, and what it asked
// for was done once. A host that is killed is left as it is, and answers nothing any more; the next one has the same ledger.

import type { Workflow } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { createManualClock } from '@caisson/ground';
import { openStage, USER, type Stage } from './thread-stage.ts';

const THREADS = 200;
const KILLS = 25;
/** Of one role: a role that is repeated gets one recorded outcome in each turn of the event loop. */
const STEPS = 4;

/** Two rounds: one of plain code with a value, one that waits as the payload says. */
const WORKFLOW: Workflow = {
  route: ({ messages }) => ['value', 'wait'][messages.length] ?? null,
  roles: {
    value: ({ step, threadId }) => step('once', () => threadId),
    wait: async ({ payload, sleep, ask, dispatch, start, wait }) => {
      if (payload === 'sleep') return sleep(5000);
      if (payload === 'ask') return ask('which?');
      if (payload === 'run') return (await dispatch({ task: 'x' })).status;
      const runIds = await Promise.all([start({ task: 'a' }), start({ task: 'b' })]);
      await sleep(1000);
      return (await wait(runIds)).map(({ status }) => status);
    },
  },
};

/** Numbers that are the same for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The rest of the project: runs end, people answer, time passes. */
async function goOn(stage: Stage, clock: ReturnType<typeof createManualClock>): Promise<void> {
  for (const { runId } of stage.ledger.runs({ status: 'queued', limit: 5 })) await stage.endRun(runId);
  for (const { questionId } of stage.ledger.questions({ status: 'open' }).slice(0, 3))
    await stage.questions.answer(questionId, 'this').catch(() => undefined); // its thread has ended
  clock.advance(250);
  for (let turn = 0; turn < STEPS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('200 threads survive random ends of their host: each ends once, each step is carried out once', async () => {
  const random = createRandom(18);
  const clock = createManualClock();
  const stage = openStage({ fix: WORKFLOW }, { concurrency: 20, maxQueue: 1000 }, clock);
  const kinds = ['sleep', 'ask', 'run', 'runs'];
  let host: Pick<Stage, 'threads' | 'runtime' | 'kill'> = stage;
  for (let index = 0; index < THREADS; index += 1)
    await host.threads.start({ workflow: 'fix', ...USER, payload: kinds[index % 4] });
  const living = () => stage.ledger.threads({ status: ['queued', 'running', 'waiting'] }).length;
  let kills = 0;
  while (living() > 0) {
    await goOn(stage, clock);
    if (random() < 0.3) host.runtime.crash();
    if (kills >= KILLS || random() > 0.6) continue;
    kills += 1;
    await host.kill();
    host = stage.openHost();
    await host.threads.recoverThreadsForWorker();
  }
  expect(kills).toBe(KILLS);
  const rows = stage.ledger.threads();
  expect(rows.filter(({ status }) => status !== 'done').map(({ detail }) => detail)).toEqual([]);
  for (const { threadId } of rows) {
    const events = stage.ledger.read({ runId: threadId });
    expect(events.filter(({ type }) => type === 'thread.ended')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'question.asked').length).toBeLessThanOrEqual(1);
  }
  // One run for `run`, two for `runs`, whatever was killed.
  expect(stage.ledger.runs()).toHaveLength((THREADS / 4) * 3);
  expect(new Set(stage.ledger.runs().map(({ idempotencyKey }) => idempotencyKey)).size).toBe(
    (THREADS / 4) * 3,
  );
  expect(stage.ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
}, 120_000);
