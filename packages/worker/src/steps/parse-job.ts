import { readFileSync, unlinkSync } from 'node:fs';
import { Job, parsePipelineSpec } from '@caisson/protocol';
import { type WorkerEnvironment, fail } from '../attempt/index.ts';

/** Step 1. Reads the job and unlinks it: it may contain secrets and is read once. */
export function parseJob(environment: WorkerEnvironment): Job {
  const text = readFileSync(environment.jobFile, 'utf8');
  unlinkSync(environment.jobFile);
  return Job.parse(JSON.parse(text));
}

/** Builds what parsing needs before there is anything to parse. */
export function prepareToParse(): void {
  build(Job);
}

/** Schemas are built on first access, so an access is enough. */
function build(schema: unknown): void {
  const { def } = (schema as { _zod?: { def: Record<string, unknown> } })._zod ?? {};
  if (def === undefined) return;
  const { shape, element, innerType, valueType, options } = def;
  for (const part of [element, innerType, valueType]) if (part !== undefined) build(part);
  for (const part of Object.values({ ...(shape as object), ...(options as object) })) build(part);
  (schema as { safeParse(value: unknown): unknown }).safeParse({});
}

/** Checks that need the parsed job; a failure here is reported like any other. */
export function checkJob(job: Job, environment: WorkerEnvironment): void {
  parsePipelineSpec(job.pipeline);
  if (environment.safety !== undefined && environment.safety !== job.grant.mode) {
    throw fail(
      'policy-denied',
      `CAISSON_SAFETY says "${environment.safety}" but the grant says "${job.grant.mode}"`,
      { step: 'parse-job' },
    );
  }
}
