import { expect, test } from 'vitest';
import { projectRun, type ProjectedEvent } from './project.ts';

test('the row of a run has the cost of all its attempts', () => {
  const row = { runId: 'run_a', status: 'running', attempt: 2 } as Parameters<typeof projectRun>[0];
  const data = {
    durationMs: 4,
    costUsd: 0.25,
    total: { attempts: 2, durationMs: 7, usage: { costUsd: 0.75 } },
  };
  const event = { type: 'dispatch.finished', runId: 'run_a', attempt: 2, at: '', offset: 9, data };
  expect(projectRun(row, event as unknown as ProjectedEvent)).toMatchObject({ costUsd: 0.75 });
});
