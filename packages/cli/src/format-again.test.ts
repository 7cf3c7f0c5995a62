import type { DispatchResult } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { describeAgain } from './format-again.ts';

const runOf = (fields: Partial<DispatchResult>): DispatchResult =>
  ({ runId: 'run_a', status: 'failed', result: null, runtime: 'codex', ...fields }) as DispatchResult;

const lost = { reason: 'lost', detail: 'its host died' } as const;

it('a lost run with work can be continued, as an interrupted one', () => {
  const both = ['go on: caisson continue run_a "…"', 'again: caisson retry run_a'];
  expect(describeAgain(runOf({ failure: lost, leftWork: true }))).toEqual(both);
  expect(describeAgain(runOf({ failure: lost }))).toEqual([both[1]]);
  expect(describeAgain(runOf({ failure: lost, leftWork: true, runtime: 'command' }))).toEqual([both[1]]);
  expect(describeAgain(runOf({ failure: { reason: 'crashed', detail: '' }, leftWork: true }))).toEqual([
    both[1],
  ]);
});
