/** A bind mount has no quota: the workspace's growth is watched instead, and passing the limit ends the agent. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { measureUnlinked, watchGrowth, type SandboxProcess } from '@caisson/ground';
import type { AttemptContext } from '../attempt-context.ts';

/** Resolves with a function that ends the watch; does nothing without a disk limit. */
export async function watchDisk(
  context: AttemptContext,
  process: SandboxProcess,
): Promise<() => Promise<void>> {
  const { grant, workspace, paths } = context.job;
  const cap = grant.limits.disk;
  if (cap === undefined) return () => Promise.resolve();
  const watch = await watchGrowth({
    path: workspace.path,
    // Everything on the disk that the agent can write to, and what it holds open without a name.
    others: [paths.mailbox, workspace.agentGit?.source, paths.session && dirname(paths.session)].filter(
      (path) => path != null && !isWithin(workspace.path, path) && existsSync(path),
    ) as string[],
    unseenBytes: () => measureUnlinked(process.initPid ?? process.pid, workspace.path),
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

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
