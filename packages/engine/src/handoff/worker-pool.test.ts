import { on } from 'node:events';
import {
  definedOnly,
  type DispatchRequest,
  type DispatchResult,
  type EventEnvelope,
  type Handoff,
} from '@caisson/protocol';
import { expect, test } from 'vitest';
import type { PoolHouse, PoolRun, WorkerPoolConfig } from './contract.ts';
import { NoOutputError, PushFailedError, WorkerTimeoutError } from './errors.ts';
import { PoolView } from './pool-view.ts';
import { WorkerPool } from './worker-pool.ts';

const HANDOFF: Handoff = {
  ...{ taskId: 't', status: 'complete', by: 'agent', summary: 'done' },
  ...{ filesChanged: ['a'], outOfScope: [], concerns: [], suggestions: [] },
  metrics: {
    ...{ linesAdded: 1, linesRemoved: 0, filesCreated: 1, filesModified: 0 },
    ...{ tokensUsed: 0, toolCallCount: 0, durationMs: 1 },
  },
  verdict: {
    ...{ patchApplies: true, branchExists: true, pushed: true },
    ...{ scopeRespected: true, verify: 'none', isEmpty: false },
  },
};

const ended = (more: Partial<DispatchResult>): DispatchResult =>
  ({ runId: 'run_1', status: 'done', handoff: HANDOFF, ...more }) as DispatchResult;

/** A project without runs, whose dispatch is the test's, and whose timers the test fires. */
function createPool(config: WorkerPoolConfig, run: Partial<PoolRun>) {
  const requests: DispatchRequest[] = [];
  const cancels: unknown[] = [];
  const lines: string[] = [];
  const timers = new Map<number, { work: () => void; ms: number }>();
  let closed = 0;
  const house = {
    config: { projectRoot: '/project', limits: { concurrency: 4 } },
    runs: () => Promise.resolve([]),
    branches: () => Promise.resolve([]),
    async *follow({ signal }: { signal: AbortSignal }) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield* [];
    },
    close: () => Promise.resolve(void (closed += 1)),
  } as unknown as PoolHouse;
  const pool = new WorkerPool(config, 'Work.', {
    open: () => Promise.resolve(house),
    dispatch: (request) => {
      requests.push(request);
      const cancel = (how: unknown): void => void cancels.push(how);
      return Promise.resolve({ runId: 'run_1', ended: new Promise(() => undefined), cancel, ...run });
    },
    now: () => 1234,
    setTimeout: (work, ms) => {
      timers.set(timers.size + 1, { work, ms });
      return timers.size;
    },
    clearTimeout: (timer) => void timers.delete(timer),
    log: (line) => lines.push(line),
  });
  return { pool, requests, cancels, lines, timers, closed: () => closed };
}

const TASK = { id: 'task/1', description: 'Fix: the  Ümlaut, please!', scope: ['src'], priority: 2 };

test('a task becomes a request of its pool, with the address normalised', async () => {
  const { pool, requests } = createPool(
    {
      name: 'mine',
      llm: { endpoint: 'http://model:1///', model: 'm', maxTokens: 5, temperature: 0, apiKey: 'env:KEY' },
      git: { url: 'https://host/repo.git', branch: 'main' },
      gitToken: 'env:GIT_TOKEN',
      request: { runtime: 'codex', mode: 'full-auto' },
    },
    { ended: Promise.resolve(ended({})) },
  );
  const span = { spanContext: () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 }) };
  expect(await pool.assignTask(TASK, span)).toEqual(HANDOFF);
  expect(requests).toEqual([
    {
      ...{
        runtime: 'codex',
        mode: 'full-auto',
        repo: 'https://host/repo.git',
        push: true,
        gitToken: 'env:GIT_TOKEN',
      },
      ...{ base: 'main', model: 'm', systemPrompt: 'Work.', scope: ['src'], priority: 2 },
      llm: { endpoint: 'http://model:1/v1', apiKey: 'env:KEY', maxTokens: 5, temperature: 0 },
      ...{ task: TASK.description, taskId: 'task/1', pool: 'mine', timeoutMs: 1_800_000 },
      branch: 'worker/task-1-fix-the-mlaut-please',
      trace: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    },
  ]);
});

test('a span that no tracer made is in no trace, and the task is done all the same', async () => {
  const { pool, requests } = createPool({}, { ended: Promise.resolve(ended({})) });
  const span = { spanContext: () => ({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }) };
  expect(await pool.assignTask(TASK, span)).toEqual(HANDOFF);
  expect(requests).toMatchObject([{ taskId: TASK.id }]);
  expect(requests[0]).not.toHaveProperty('trace'); // which admission would refuse
});

test('no result is no output, and a branch that is not pushed is no success', async () => {
  const failure = { reason: 'crashed' as const, detail: 'the worker was killed' };
  const crashed = createPool(
    {},
    { ended: Promise.resolve(ended({ status: 'error', failure, handoff: undefined })) },
  );
  await expect(crashed.pool.assignTask(TASK)).rejects.toThrow(NoOutputError);
  const nothing = createPool({}, { ended: Promise.resolve(ended({ handoff: undefined })) });
  await expect(nothing.pool.assignTask(TASK)).rejects.toMatchObject({ code: 'NO_OUTPUT', runId: 'run_1' });

  const handoff = { ...HANDOFF, verdict: { ...HANDOFF.verdict, pushed: false } };
  const remote = { git: { url: '/srv/repo.git' } };
  const unpushed = createPool(remote, { ended: Promise.resolve(ended({ handoff })) });
  const error: unknown = await unpushed.pool.assignTask(TASK).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PushFailedError);
  expect(error).toMatchObject({ branch: 'worker/task-1-fix-the-mlaut-please', runId: 'run_1', handoff });
});

test('a run that never comes back is cancelled by the timer of the pool', async () => {
  const { pool, timers, cancels } = createPool({ workerTimeout: 7 }, {});
  const assigned = pool.assignTask(TASK).catch((thrown: unknown) => thrown);
  await expect.poll(() => timers.size).toBe(1);
  expect(pool.getAllWorkers()).toEqual([{ id: 'ephemeral-task/1', currentTask: TASK, startedAt: 1234 }]);
  const [timer] = timers.values();
  expect(timer?.ms).toBe(67_000);
  timer?.work();
  expect(await assigned).toBeInstanceOf(WorkerTimeoutError);
  expect([cancels, pool.getWorkerCount(), timers.size]).toEqual([[{ force: true }], 0, 0]);
});

test('a timeout of a month is split into timers that Node does not fire at once', async () => {
  const { pool, timers, cancels } = createPool({ workerTimeout: 30 * 86_400 }, {});
  const assigned = pool.assignTask(TASK).catch((thrown: unknown) => thrown);
  const legs: number[] = [];
  while (cancels.length === 0) {
    await expect.poll(() => timers.size).toBe(1);
    const [[id, timer] = []] = [...timers];
    timers.delete(id ?? 0);
    legs.push(timer?.ms ?? 0);
    timer?.work();
  }
  expect(await assigned).toBeInstanceOf(WorkerTimeoutError);
  expect(legs.reduce((sum, ms) => sum + ms)).toBe(30 * 86_400_000 + 60_000);
  expect(Math.max(...legs)).toBeLessThan(2 ** 31);
});

test('each attempt has the time of the pool, and a push has none of it', async () => {
  const events = new EventTarget();
  const say = (type: string): void => void events.dispatchEvent(new CustomEvent('said', { detail: type }));
  const end = Promise.withResolvers<DispatchResult>();
  const { pool, timers } = createPool(
    { workerTimeout: 7 },
    {
      ended: end.promise,
      async *events({ signal } = {}) {
        for await (const [said] of on(events, 'said', definedOnly({ signal })) as AsyncIterable<
          [CustomEvent<string>]
        >)
          yield { type: said.detail } as EventEnvelope;
      },
    },
  );
  const assigned = pool.assignTask(TASK);
  await expect.poll(() => pool.getAllWorkers().length).toBe(1);
  const running = (): number[] => [...timers.keys()];
  await expect.poll(() => (say('dispatch.started'), running().length)).toBe(1);
  say('attempt.ended');
  await expect.poll(running).toEqual([]);
  say('dispatch.started');
  await expect.poll(() => running().length).toBe(1);
  say('dispatch.finished');
  await expect.poll(running).toEqual([]);
  end.resolve(ended({}));
  expect(await assigned).toEqual(HANDOFF);
});

test('a branch that timed out waits until a run continues it, or it is dropped', async () => {
  const row = (runId: string, more: object = {}) => ({
    ...{ runId, status: 'timeout', waitingBranch: 'late', acceptedOffset: 1 },
    ...{ worker: { pool: 'workers', branch: `branch-of-${runId}` } },
    ...more,
  });
  const rows = [
    ...[row('run_a'), row('run_b'), row('run_c', { waitingBranch: undefined })],
    ...[row('run_d', { worker: { pool: 'workers', branch: 'd', drainedAt: 'now' } }), row('run_e')],
  ];
  const [continued, dropped] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
  const elsewhere = ['run_c', 'run_e']; // it waits for nobody, or goes on in another run
  const house = {
    runs: ({ ids = [] }: { ids?: string[] }) =>
      Promise.resolve(rows.filter(({ runId }) => ids.includes(runId))),
    branches: () => Promise.resolve(rows.filter(({ runId }) => !elsewhere.includes(runId))),
    async *follow() {
      await continued.promise;
      elsewhere.push('run_a');
      const accepted = { type: 'dispatch.accepted', runId: 'run_x', seq: 1, continues: 'run_a', task: {} };
      yield accepted as unknown as EventEnvelope;
      await dropped.promise;
      yield { type: 'branch.dropped', runId: 'run_b', seq: 9 } as EventEnvelope;
    },
  } as unknown as PoolHouse;
  const view = new PoolView('workers', () => undefined);
  const waiting = (): string[] => [...view.timedOut().keys()];
  const { followed } = await view.open(house, new AbortController().signal);
  expect(waiting()).toEqual(['run_a', 'run_b']);
  continued.resolve(null);
  await expect.poll(waiting).toEqual(['run_b']);
  dropped.resolve(null);
  await followed;
  expect(waiting()).toEqual([]);
});

test('listeners that throw, now or later, disturb nobody; stop closes the project once', async () => {
  const { pool, lines, closed } = createPool({}, { ended: Promise.resolve(ended({})) });
  const received: string[] = [];
  pool.onTaskComplete(() => {
    throw new Error('now');
  });
  pool.onTaskComplete(() => Promise.reject(new Error('later')));
  pool.onTaskComplete(({ taskId }) => received.push(taskId));
  await pool.assignTask(TASK);
  await Promise.all([pool.stop(), pool.stop()]);
  expect([received, closed()]).toEqual([['t'], 1]);
  expect(lines).toEqual([
    'Worker pool ready (ephemeral mode): at most 4 at once, by limits.concurrency',
    'a listener failed: Error: now',
    'a listener failed: Error: later',
  ]);
});

test.each([
  [{ description: 'x' }, '(without id)', 'id must be'],
  [{ id: 't' }, 't', 'description must be'],
  [{ id: 't', description: 'x', scope: 'src' }, 't', 'scope must be a list'],
  [{ id: 't', description: 'x', branch: 7 }, 't', 'branch must be'],
  [null, '(without id)', 'no object'],
])(
  'what is no task (%j) rejects with the name of its field, and the listeners hear of it',
  async (task, id, why) => {
    const { pool, requests } = createPool({}, {});
    const failed: [string, Error][] = [];
    pool.onWorkerFailed((taskId, error) => failed.push([taskId, error]));
    const error: unknown = await pool.assignTask(task as never).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'POOL_TASK', taskId: id, message: expect.stringContaining(why) });
    expect(failed).toEqual([[id, error]]);
    expect(requests).toEqual([]);
    await pool.stop();
  },
);

test.each([
  [{ maxWorker: 3 }, 'maxWorker is not a field'],
  [{ llm: { modle: 'x' } }, 'llm.modle is not a field'],
  [{ git: { uri: 'x' } }, 'git.uri is not a field'],
])('a pool with an unknown field (%j) is refused', (config, why) => {
  expect(() => createPool(config as WorkerPoolConfig, {})).toThrow(why);
});
