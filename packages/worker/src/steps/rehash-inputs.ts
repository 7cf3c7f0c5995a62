import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Job } from '@caisson/protocol';
import { fail } from '../attempt/index.ts';

/** Step 3. An input whose bytes are not the admitted ones ends the attempt. */
export async function rehashInputs(job: Job): Promise<void> {
  for (const input of job.inputs) {
    const actual = await hashFile(input.path);
    if (actual !== input.sha256) {
      throw fail(
        'integrity-failed',
        `input "${input.key}" has sha256 ${actual}, admitted was ${input.sha256}`,
      );
    }
  }
}

/** sha256 of a file, in hex. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
