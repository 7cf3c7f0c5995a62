import { expect, test } from 'vitest';
import type { Caisson } from '../../caisson-contract.ts';
import type { McpBench } from './contract.ts';
import { answerTool } from './decide-tools.ts';
import { createSpentHere } from './spent-here.ts';

type Row = Awaited<ReturnType<Caisson['runs']>>[number];

/** A project with these rows and nothing else. */
function projectOf(rows: readonly Partial<Row>[]): Pick<Caisson, 'runs'> {
  return {
    runs: ({ ids = [] } = {}) =>
      Promise.resolve(rows.filter(({ runId }) => ids.includes(runId ?? '')) as readonly Row[]),
  };
}

const endedAt = '2026-01-01T00:00:00.000Z';

test('a run under way reserves its cap, and an ended one counts with its cost', async () => {
  const spent = createSpentHere(10);
  spent.started('run_a', { capUsd: 4 });
  expect(await spent.leftUsd(projectOf([{ runId: 'run_a' }]))).toBe(6);
  const ended = projectOf([{ runId: 'run_a', endedAt, costUsd: 1.5 }]);
  expect(await spent.leftUsd(ended)).toBe(8.5);
  expect(await spent.leftUsd(ended)).toBe(8.5);
});

test('a run of unknown cost counts with all that it was allowed', async () => {
  const spent = createSpentHere(10);
  spent.started('run_a', { capUsd: 4 });
  expect(await spent.leftUsd(projectOf([{ runId: 'run_a', endedAt, runtime: 'codex' }]))).toBe(6);
});

test('a ninth run is refused while eight are under way', async () => {
  const spent = createSpentHere(null);
  const rows = Array.from({ length: 8 }, (_, index) => ({ runId: `run_${index}` }));
  for (const { runId } of rows) spent.started(runId, { capUsd: null });
  await expect(spent.leftUsd(projectOf(rows))).rejects.toMatchObject({ code: 'GRANT_EXCEEDED' });
  const oneEnded = projectOf([...rows.slice(1), { runId: 'run_0', endedAt }]);
  expect(await spent.leftUsd(oneEnded)).toBeNull();
});

test('two answers in two sessions at once do not both get the money that is left', async () => {
  const spent = createSpentHere(10);
  const grant = { mode: 'suggest', budget: { usd: 6 }, hosts: [] };
  let answered = 0;
  const caisson = {
    ...projectOf([{ runId: 'run_a' }]),
    find: (run: string) => Promise.resolve(run),
    config: { network: { hosts: [] } },
    continuation: () => Promise.resolve({ task: 'go on' }),
    events: () => Promise.resolve([]),
    show: (runId: string) => Promise.resolve({ runId, result: { policy: { grant } } }),
    answer: () => Promise.resolve({ runId: `run_next_${(answered += 1)}`, isElsewhere: true }),
  } as unknown as Caisson;
  const project = { act: (_client, work) => work(caisson) } as McpBench['project'];
  const bounds = {
    mode: 'auto-edit',
    session: null,
    runUsd: null,
    totalUsd: 10,
    scopes: ['decide'],
  } as const;
  const answerOnce = (): Promise<unknown> => {
    const keep = (work: Promise<unknown>): void => void work.catch(() => undefined);
    const ending = new AbortController().signal;
    const bench: McpBench = { project, owner: 'a test', bounds, spent, ending, keep };
    const call = { signal: bench.ending, client: 'a test', isTask: false, progress: () => undefined };
    return answerTool(bench).run({ run: 'run_a', answer: 'yes' }, call);
  };
  expect(await Promise.allSettled([answerOnce(), answerOnce()])).toMatchObject([
    { status: 'fulfilled', value: { runId: 'run_next_1' } },
    { status: 'rejected', reason: { code: 'GRANT_EXCEEDED' } },
  ]);
  expect(answered).toBe(1);
});
