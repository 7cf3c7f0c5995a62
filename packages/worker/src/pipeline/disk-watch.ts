/** A bind mount has no quota: the workspace's growth is watched instead, and passing the limit ends the agent. */
import { watchGrowth, type SandboxProcess } from '@caisson/ground';
import type { AttemptContext } from '../attempt-context.ts';

/** Resolves with a function that ends the watch; does nothing without a disk limit. */
export async function watchDisk(
  context: AttemptContext,
  process: SandboxProcess,
): Promise<() => Promise<void>> {
  const cap = context.job.grant.limits.disk;
  if (cap === undefined) return () => Promise.resolve();
  const watch = await watchGrowth({
    path: context.job.workspace.path,
    maxGrowthBytes: cap,
    onExceeded: (growth) => {
      context.gathered.limit = {
        reason: 'provider-failed',
        cause: 'disk',
        detail: `the workspace grew by ${growth} bytes, the limit is ${cap}`,
      };
      process.kill();
    },
  });
  return () => watch.stop();
}
