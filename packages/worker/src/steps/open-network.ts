import { systemClock } from '@caisson/ground';
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

/** Loads the code while the host prepares the attempt, or records its start: nothing listens yet. */
export function warmNetwork(): void {
  void loadNetwork();
}

function loadNetwork() {
  return import('../network/index.ts');
}
