import type { EventEnvelope } from '@caisson/protocol';
import { expect, test } from 'vitest';
import type { PoolHouse } from './contract.ts';
import { PoolView } from './pool-view.ts';

/** A view of a project in which these events happen, one after the other. */
async function openView() {
  const coming: { event: object; seen: () => void }[] = [];
  let wake = (): void => undefined;
  const house = {
    runs: () => Promise.resolve([]),
    branches: () => Promise.resolve([]),
    async *follow() {
      for (;;) {
        const next = coming.shift();
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else {
          yield next.event as EventEnvelope;
          next.seen();
        }
      }
    },
  } as unknown as PoolHouse;
  const view = new PoolView('workers', () => undefined);
  await view.open(house, new AbortController().signal);
  let seq = 0;
  const happen = (type: string, data: object = {}): Promise<void> =>
    new Promise((seen) => {
      seq += 1;
      coming.push({
        event: { type, runId: 'run_a', seq, attempt: 1, at: '2026-01-01T00:00:00Z', ...data },
        seen,
      });
      wake();
    });
  const task = { id: 't', description: 'd', branch: 'work', pool: 'workers' };
  await happen('dispatch.accepted', { task, repository: { remote: '/srv/r.git', push: true } });
  return { view, happen, count: () => [view.workers().length, view.taskCount()] };
}

const branch = { name: 'work', commit: 'c', status: 'created' };

test('a task that is queued is no worker, and one whose branch is being pushed still is', async () => {
  const { happen, count } = await openView();
  expect(count()).toEqual([1, 1]);
  await happen('run.queued', { position: 3, limit: 2 });
  expect(count()).toEqual([0, 1]);
  await happen('attempt.launched');
  expect(count()).toEqual([1, 1]);
  await happen('workspace.removed'); // of an attempt that is tried again
  await happen('dispatch.finished', { branch });
  expect(count()).toEqual([1, 1]);
  await happen('branch.pushed', { branch: 'work' });
  expect(count()).toEqual([0, 0]);
});

test('a worker whose push was stopped frees its slot, also when its workspace stays', async () => {
  const { happen, count } = await openView();
  await happen('dispatch.finished', { branch });
  await happen('branch.push-failed', { branch: 'work', reason: 'stopped' });
  expect(count()).toEqual([0, 0]);
});

test.each([
  ['whose push was stopped is over with its clean-up', { branch }, [1, 0]],
  ['whose branch was not made is over with its ending', { branch: { ...branch, status: 'held' } }, [0, 0]],
])('a worker %s', async (_which, ending, [atEnd, afterwards]) => {
  const { happen, view } = await openView();
  await happen('dispatch.finished', ending);
  expect(view.workers()).toHaveLength(atEnd ?? -1);
  await happen('workspace.removed');
  expect(view.workers()).toHaveLength(afterwards ?? -1);
});

test('tool calls beyond those that are recorded count, in each attempt', async () => {
  const { happen, view } = await openView();
  await happen('tool.started', { callId: '1' });
  await happen('tool.started', { callId: '2', seq: 0 }); // only told: the record is full
  expect(view.toolCalls()).toBe(2);
  await happen('worker.progress', { seq: 0, toolCalls: 2345 });
  expect(view.toolCalls()).toBe(2345);
  await happen('attempt.ended', { usage: { toolCalls: 2400 } });
  await happen('worker.progress', { seq: 0, toolCalls: 7 });
  expect(view.toolCalls()).toBe(2407);
});

test('a timed-out branch that was not made is listed, too', async () => {
  const { happen, view } = await openView();
  const failure = { reason: 'timeout', detail: '' };
  await happen('dispatch.failed', { failure, branch: { ...branch, status: 'held' } });
  expect([...view.timedOut().values()]).toEqual(['work']);
});

/** A project whose lists are what the test says, and whose events it names. */
async function openLate(lists: { runs: object[]; branches: object[]; events?: object[] }) {
  const coming: { event: object; seen: () => void }[] = [];
  let wake = (): void => undefined;
  const house = {
    runs: ({ ids, limit }: { ids?: string[]; limit?: number }) =>
      Promise.resolve(lists.runs.slice(0, limit).filter((row) => ids === undefined || isIn(ids, row))),
    branches: () => Promise.resolve(lists.branches),
    events: () => Promise.resolve(lists.events ?? []),
    async *follow({ signal }: { signal: AbortSignal }) {
      signal.addEventListener('abort', () => wake());
      while (!signal.aborted) {
        const next = coming.shift();
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else {
          yield next.event as EventEnvelope;
          next.seen();
        }
      }
    },
  };
  const view = new PoolView('workers', () => undefined);
  const end = new AbortController();
  const open = (): ReturnType<PoolView['open']> => view.open(house as unknown as PoolHouse, end.signal);
  await open();
  let seq = 0;
  const happen = (runId: string, type: string, data: object = {}): Promise<void> =>
    new Promise((seen) => {
      coming.push({ event: { type, runId, seq: (seq += 1), attempt: 1, at: AT, ...data }, seen });
      wake();
    });
  return { view, house, open, end, happen };
}

const AT = '2026-01-01T00:00:00Z';
const isIn = (ids: string[], row: object): boolean => 'runId' in row && ids.includes(String(row.runId));
const late = { runId: 'run_late', worker: { pool: 'workers', branch: 'work' } };
const accepted = {
  ...{ type: 'dispatch.accepted', runId: 'run_a', seq: 1, attempt: 0, at: AT },
  ...{ task: { id: 't', description: 'd', branch: 'work', pool: 'workers' }, repository: { push: true } },
};

test('a timed-out branch that another run continues is listed again when that one ends without it', async () => {
  const lists = { runs: [late], branches: [{ runId: 'run_late', status: 'timeout' }] };
  const { view, happen, end } = await openLate(lists);
  const listed = (): string[] => [...view.timedOut().values()];
  expect(listed()).toEqual(['work']);
  const task = { id: 't', description: 'd', branch: 'work' };
  const [waiting, none] = [lists.branches, []];
  lists.branches = none;
  await happen('run_next', 'dispatch.accepted', { task, continues: 'run_late' });
  expect(listed()).toEqual([]);
  lists.branches = waiting;
  await happen('run_next', 'dispatch.failed', { failure: { reason: 'fetch-failed', detail: '' } });
  expect(listed()).toEqual(['work']);
  view.drained('run_late');
  await happen('run_last', 'dispatch.accepted', { task, continues: 'run_late' });
  await happen('run_last', 'dispatch.cancelled');
  expect(listed()).toEqual([]); // the ledger did not say so yet
  end.abort();
});

test('a run whose host is gone before it pushed is no worker, and one that pushes is', async () => {
  const branches = [{ runId: 'run_a', status: 'done', push: { status: 'pending' } }];
  const ended = { ...accepted, type: 'dispatch.finished', seq: 2, branch };
  const counts = [];
  for (const more of [{}, { isPushing: true }]) {
    const lists = { runs: [], branches: [{ ...branches[0], ...more }], events: [accepted, ended] };
    const { view, end } = await openLate(lists);
    counts.push(view.taskCount());
    end.abort();
  }
  expect(counts).toEqual([0, 1]);
});

test('while the state is read again, nobody is missing from it', async () => {
  const lists = { runs: [{ ...late, runId: 'run_a' }], branches: [], events: [accepted] };
  const { view, house, open, end } = await openLate(lists);
  expect(view.taskCount()).toBe(1);
  const [asked, mayAnswer] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
  const read = house.events;
  house.events = async () => {
    asked.resolve(null);
    await mayAnswer.promise;
    return await read();
  };
  const again = open();
  await asked.promise;
  expect(view.taskCount()).toBe(1);
  mayAnswer.resolve(null);
  await again;
  expect(view.taskCount()).toBe(1);
  end.abort();
});
