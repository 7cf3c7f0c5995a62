import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AttemptContext } from '../attempt-context.ts';

/** Step 6. Inputs land at `inputs/<key>`; capabilities are laid over the workspace in the order given. */
export async function overlayCapabilities(context: AttemptContext): Promise<void> {
  const { job } = context;
  if (job.inputs.length > 0) mkdirSync(join(job.workspace.path, 'inputs'), { recursive: true });
  for (const input of job.inputs)
    cpSync(input.path, join(job.workspace.path, 'inputs', input.key), { recursive: true });
  return Promise.resolve();
}
