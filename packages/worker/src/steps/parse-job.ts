import { readFileSync, unlinkSync } from 'node:fs';
import { Job, parsePipelineSpec } from '@caisson/protocol';
import type { WorkerEnvironment } from '../environment.ts';
import { fail } from '../step-failure.ts';

/** Step 1. Reads the job and unlinks it: it may hold secrets and is read once. */
export function parseJob(environment: WorkerEnvironment): Job {
  const text = readFileSync(environment.jobFile, 'utf8');
  unlinkSync(environment.jobFile);
  return Job.parse(JSON.parse(text));
}

/** What can only be judged once the job is known; a failure here is told like any other. */
export function checkJob(job: Job, environment: WorkerEnvironment): void {
  parsePipelineSpec(job.pipeline);
  if (environment.safety !== undefined && environment.safety !== job.grant.mode) {
    throw fail(
      'policy-denied',
      `CAISSON_SAFETY says "${environment.safety}" but the grant says "${job.grant.mode}"`,
      { step: 1 },
    );
  }
}
