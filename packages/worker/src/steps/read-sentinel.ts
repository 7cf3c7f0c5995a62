import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NeedsInput, type Job } from '@caisson/protocol';
import { fail } from '../attempt/index.ts';

const MAX_SENTINEL_BYTES = 1024 * 1024;

/** Step 13. A valid sentinel is a question; a malformed one is a failure, never ignored. */
export function readSentinel(job: Job): NeedsInput | null {
  const path = join(job.paths.mailbox, 'needs_input.json');
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  if (!stat.isFile()) throw fail('worker-failed', 'needs_input.json is not a regular file');
  if (stat.size > MAX_SENTINEL_BYTES) {
    throw fail(
      'worker-failed',
      `needs_input.json has ${stat.size} bytes; at most ${MAX_SENTINEL_BYTES} are read`,
    );
  }
  return parseSentinel(readFileSync(path, 'utf8'));
}

function parseSentinel(text: string): NeedsInput {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw fail('worker-failed', `needs_input.json is not JSON: ${(error as Error).message}`);
  }
  const parsed = NeedsInput.safeParse(value);
  if (!parsed.success) {
    const where = parsed.error.issues
      .map((issue) => `${issue.path.join('.') || 'file'}: ${issue.message}`)
      .join('; ');
    throw fail('worker-failed', `needs_input.json needs a "question": ${where}`);
  }
  return parsed.data;
}
