import { readFileSync, unlinkSync } from 'node:fs';
import { checkPipeline, readJob, type Job } from '@caisson/protocol';
import { type WorkerEnvironment, fail } from '../attempt/index.ts';

/** Step 1. Reads the job and unlinks it: it may contain secrets and is read once. */
export async function parseJob(environment: WorkerEnvironment): Promise<Job> {
  const text = readFileSync(environment.jobFile, 'utf8');
  unlinkSync(environment.jobFile);
  const value: unknown = JSON.parse(text);
  return readJob(value) ?? (await import('./refused-job.ts')).explainRefusal(value);
}

/** Checks that need the parsed job; a failure here is reported like any other. */
export function checkJob(job: Job, environment: WorkerEnvironment): void {
  checkPipeline(job.pipeline);
  if (environment.safety !== undefined && environment.safety !== job.grant.mode) {
    throw fail(
      'policy-denied',
      `CAISSON_SAFETY says "${environment.safety}" but the grant says "${job.grant.mode}"`,
      { step: 'parse-job' },
    );
  }
}
