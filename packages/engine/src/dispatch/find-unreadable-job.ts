/**
 * Why a worker that crashed before its first word may have crashed. Its job is held against the schema only then: the
 * check costs a first run 2 to 4 ms, what people ask for was checked at admission, and the rest is ours to get right.
 */
import { Job } from '@caisson/protocol';
import type { Ending } from './find-ending.ts';

const MAX_PROBLEMS = 5;

/** The ending that says what is wrong with the job, or null when a worker can read it. Not worth another attempt. */
export function findUnreadableJob(ending: Ending, job: Job): Ending | null {
  if (ending.kind !== 'failed' || ending.failure.reason !== 'crashed') return null;
  const { error } = Job.safeParse(JSON.parse(JSON.stringify(job)));
  if (error === undefined) return null;
  const problems = error.issues.slice(0, MAX_PROBLEMS).map(describeIssue);
  return {
    kind: 'failed',
    failure: {
      reason: 'worker-failed',
      step: 1,
      detail: `the worker cannot take its job (${problems.join('; ')}). This is a fault of the host, or of the program that asked.`,
    },
  };
}

/** The member and what belongs there, never what is there: that may be a secret. */
function describeIssue(issue: {
  readonly path: readonly PropertyKey[];
  readonly expected?: unknown;
}): string {
  const where = issue.path.map(String).join('.');
  return typeof issue.expected === 'string' ? `${where} is no ${issue.expected}` : `${where} is not allowed`;
}
