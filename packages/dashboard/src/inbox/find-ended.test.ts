import { expect, test } from 'vitest';
import type { ListedRun } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { findEnded, MAX_FOUND, MAX_LOOKED } from './find-ended.ts';

/** Runs that ended, newest first; their names say what they left. */
function createHost(done: readonly string[], failed: readonly string[] = []): Client {
  const toRuns = (names: readonly string[], status: ListedRun['status']): ListedRun[] =>
    names.map((name, index) => ({
      ...{ runId: `${name}:${index}`, status, priority: 5, acceptedOffset: index, acceptedAt: '' },
      ...{ attempt: 1, lastSeq: 1, description: '', hasWork: name !== 'command' },
      ...(name === 'applied' ? { appliedAt: 'then' } : {}),
    }));
  return {
    async *pages(_path: string, query: Record<string, unknown>) {
      const runs = query['status'] === 'done' ? toRuns(done, 'done') : toRuns(failed, 'error');
      const limit = Number(query['limit']);
      for (let from = 0; from < Math.max(1, runs.length); from += limit)
        yield await Promise.resolve(runs.slice(from, from + limit));
    },
  } as unknown as Client;
}

const { signal } = new AbortController();
const many = (count: number, name: string) => Array.from({ length: count }, () => name);

test('work is found behind many commands without any', async () => {
  const client = createHost([...many(MAX_LOOKED - 3, 'command'), 'applied', 'work']);
  const { work, ...rest } = await findEnded(client, new Set(), signal);
  expect([work.map(({ runId }) => runId.split(':')[0]), rest]).toEqual([
    ['work'],
    { failures: [], isCut: false, isUnseen: false },
  ]);
});

test('what is not looked at is said', async () => {
  const beyond = createHost([...many(MAX_LOOKED, 'command'), 'work']);
  expect(await findEnded(beyond, new Set(), signal)).toMatchObject({ work: [], isUnseen: true });
  const whole = createHost(many(MAX_LOOKED, 'command'));
  expect(await findEnded(whole, new Set(), signal)).toMatchObject({ work: [], isUnseen: false });
});

test('what is hidden makes room for older failures, and what has no room is said', async () => {
  const client = createHost([], many(MAX_FOUND + 2, 'error'));
  const first = await findEnded(client, new Set(), signal);
  expect([first.failures.length, first.isCut]).toEqual([MAX_FOUND, true]);
  const next = await findEnded(client, new Set(['failure:error:0', 'failure:error:1']), signal);
  expect([next.failures.length, next.isCut]).toEqual([MAX_FOUND, false]);
});
