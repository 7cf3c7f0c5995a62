import { expect, test } from 'vitest';
import type { ListedRun } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { ProblemError } from '../api/problem.ts';
import { findEnded, MAX_FOUND, MAX_LOOKED } from './find-ended.ts';

let lists = 0;

/** Runs that ended, newest first; their ids say what they left. Each list has ids of its own: patches are remembered. */
function createHost(done: readonly string[], failed: readonly string[] = []) {
  const list = (lists += 1);
  const toRuns = (names: readonly string[], status: ListedRun['status']): ListedRun[] =>
    names.map((name, index) => ({
      ...{ runId: `${list}:${name}:${index}`, status, priority: 5, acceptedOffset: index, acceptedAt: '' },
      ...{ attempt: 1, lastSeq: 1, description: '', ...(name === 'applied' ? { appliedAt: 'then' } : {}) },
    }));
  const asked: string[] = [];
  const client = {
    async *pages(_path: string, query: Record<string, unknown>) {
      const runs = query['status'] === 'done' ? toRuns(done, 'done') : toRuns(failed, 'error');
      const limit = Number(query['limit']);
      for (let from = 0; from < Math.max(1, runs.length); from += limit)
        yield await Promise.resolve(runs.slice(from, from + limit));
    },
    get(path: string) {
      asked.push(path);
      const kind = path.split(':')[1];
      if (kind === 'gone') throw new ProblemError({ code: 'X', message: '', status: 404 });
      if (kind === 'damaged') throw new ProblemError({ code: 'X', message: '', status: 500 });
      return Promise.resolve({ result: kind === 'patch' ? { patchRef: 'x' } : {} });
    },
  };
  return { client: client as unknown as Client, asked, idOf: (kind: string) => `${kind}:${list}:` };
}

const { signal } = new AbortController();
const many = (count: number, name: string) => Array.from({ length: count }, () => name);
const kinds = (runs: readonly ListedRun[]) => runs.map(({ runId }) => runId.split(':')[1]);

test('work is found behind many commands without any, and nothing more is asked of what was applied', async () => {
  const { client, asked } = createHost([...many(120, 'command'), 'applied', 'patch']);
  const found = await findEnded(client, new Set(), signal);
  expect(found).toMatchObject({ failures: [], isCut: false, isUnseen: false });
  expect(kinds(found.work)).toEqual(['patch']);
  expect(asked).toHaveLength(121);
  await findEnded(client, new Set(), signal);
  expect(asked).toHaveLength(121);
});

test('a run that cannot be read is work to look at; one that was deleted is none', async () => {
  const { client } = createHost(['damaged', 'gone']);
  expect(kinds((await findEnded(client, new Set(), signal)).work)).toEqual(['damaged']);
});

test('what is not looked at is said', async () => {
  const { client } = createHost([...many(MAX_LOOKED, 'command'), 'patch']);
  expect(await findEnded(client, new Set(), signal)).toMatchObject({ work: [], isUnseen: true });
  const whole = createHost(many(MAX_LOOKED, 'command'));
  expect(await findEnded(whole.client, new Set(), signal)).toMatchObject({ work: [], isUnseen: false });
});

test('what is hidden makes room for older failures, and what has no room is said', async () => {
  const { client, idOf } = createHost([], many(MAX_FOUND + 2, 'error'));
  const first = await findEnded(client, new Set(), signal);
  expect([first.failures.length, first.isCut]).toEqual([MAX_FOUND, true]);
  const hidden = new Set([0, 1].map((index) => `${idOf('failure')}error:${index}`));
  const next = await findEnded(client, hidden, signal);
  expect([next.failures.length, next.isCut]).toEqual([MAX_FOUND, false]);
});
