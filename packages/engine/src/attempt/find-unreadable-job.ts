/**
 * Why a worker that crashed before its first line may have crashed. Its job is validated only then: the check costs a
 * first run 2 to 4 ms, requests were checked at admission, and the rest is our own code.
 */
import { Job, STEPS, type Ending } from '@caisson/protocol';

const MAX_PROBLEMS = 5;

/** The ending that names the problem of the job, or null when a worker can read it. Another attempt would not help. */
export function findUnreadableJob(ending: Ending, job: Job): Ending | null {
  if (ending.kind !== 'failed' || ending.failure.reason !== 'crashed') return null;
  const { error } = Job.safeParse(JSON.parse(JSON.stringify(job)));
  if (error === undefined) return null;
  const problems = error.issues.slice(0, MAX_PROBLEMS).map(describeIssue);
  return {
    kind: 'failed',
    failure: {
      reason: 'worker-failed',
      step: STEPS['parse-job'],
      detail: `the worker cannot read its job (${problems.join('; ')}). This is a fault of the host, or of the program that asked.`,
    },
  };
}

/** The member and the expected type, never its value: that may be a secret. */
function describeIssue(issue: {
  readonly path: readonly PropertyKey[];
  readonly expected?: unknown;
}): string {
  const where = issue.path.map(String).join('.');
  return typeof issue.expected === 'string' ? `${where} is not ${issue.expected}` : `${where} is not allowed`;
}
