/** A bind mount has no quota: the workspace's growth is watched instead, and passing the limit ends the agent. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { measureUnlinked, watchGrowth, type SandboxProcess } from '@caisson/ground';
import type { AttemptContext } from '../attempt-context.ts';

/**
 * Resolves with a function that ends the watch; does nothing without a disk limit. `folder` is what is watched where
 * that is not the workspace itself.
 */
export async function watchDisk(
  context: AttemptContext,
  process: SandboxProcess,
  folder: string = context.job.workspace.path,
): Promise<() => Promise<void>> {
  const { grant, workspace, paths } = context.job;
  const cap = grant.limits.disk;
  if (cap === undefined) return () => Promise.resolve();
  const watch = await watchGrowth({
    path: folder,
    // Everything on the disk that the agent can write to, and what it holds open without a name.
    others: [paths.mailbox, workspace.agentGit?.source, paths.session && dirname(paths.session)].filter(
      (path) => path != null && !isWithin(folder, path) && existsSync(path),
    ) as string[],
    unseenBytes: () => measureUnlinked(process.initPid ?? process.pid, folder),
    maxGrowthBytes: cap,
    onExceeded: (growth) => {
      context.gathered.limit = {
        reason: 'provider-failed',
        cause: 'disk',
        detail: describeExcess(growth, cap, watch.maxGrowthBytes),
      };
      process.kill();
    },
  });
  return () => watch.stop();
}

function describeExcess(growth: number, cap: number, held: number): string {
  const grown = `the workspace grew by ${growth} bytes, the limit is ${held}`;
  return held < cap ? `${grown}: nine tenths of what was free on its disk` : grown;
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
