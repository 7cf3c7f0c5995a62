import type { Failure } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { countIdenticalFailures } from './identical-failures.ts';

/** A chain of runs, each the retry of the one before it. */
function count(failures: readonly Failure[]): number {
  return countIdenticalFailures(String(failures.length - 1), (runId) => {
    const failure = failures[Number(runId)];
    if (failure === undefined) return null;
    return { failure, ...(runId === '0' ? {} : { continues: String(Number(runId) - 1) }) };
  });
}

const overloaded = (detail: string): Failure => ({ reason: 'provider-failed', cause: 'overloaded', detail });

it('takes failures that differ in request ids, numbers and times for the same', () => {
  expect(
    count([
      overloaded('529 {"error":"Overloaded","request_id":"req_011CVa8"} after 3 tries at 10:00:01'),
      overloaded('529 {"error":"Overloaded","request_id":"req_022XYb9"} after 4 tries at 11:30:59'),
      overloaded('529 {"error":"Overloaded","request_id":"req_033ZZc7"} after 12 tries at 12:00:00'),
    ]),
  ).toBe(3);
});

it('distinguishes failures with another reason, cause or wording', () => {
  const same = overloaded('the model is overloaded');
  expect(count([{ ...same, cause: 'rate-limit' }, same])).toBe(1);
  expect(count([{ ...same, reason: 'crashed' }, same])).toBe(1);
  expect(count([overloaded('the gateway is overloaded'), same])).toBe(1);
});
