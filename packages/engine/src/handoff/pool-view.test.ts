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
