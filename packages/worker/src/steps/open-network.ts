import { systemClock } from '@caisson/ground';
import type { Job } from '@caisson/protocol';
import type { AttemptContext } from '../attempt/index.ts';

/** Opens the way out of the sandbox, if the job has one. A run without one does not load HTTP and TLS. */
export async function openNetwork(context: AttemptContext): Promise<void> {
  const { job, writer } = context;
  if (job.network === null) return;
  const { openAttemptNetwork } = await loadNetwork();
  const { secrets } = job;
  context.network = await openAttemptNetwork(job.network, {
    clock: systemClock,
    secrets,
    write: writer.write,
  });
}

/** Loads the code while the host records the start: nothing listens yet. */
export function warmNetwork({ network }: Job): void {
  if (network !== null) void loadNetwork();
}

function loadNetwork() {
  return import('../network/index.ts');
}
