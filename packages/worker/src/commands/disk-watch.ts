/** A bind mount has no quota: the workspace's growth is watched instead, and passing the limit ends the agent. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { findHiding, measureUnlinked, watchGrowth, type GrowthWatch } from '@caisson/ground';
import type { Job } from '@caisson/protocol';
import type { AttemptContext } from '../attempt/index.ts';

/**
 * Runs the work under a watch that begins before it, so that everything the sandbox writes counts. The process is
 * `context.running`. `job` has other folders in the clean room.
 */
export async function underDiskWatch<T>(
  context: AttemptContext,
  work: () => Promise<T>,
  job: Job = context.job,
): Promise<T> {
  const watch = await watchDisk(context, job);
  try {
    return await work();
  } finally {
    await watch?.stop();
  }
}

async function watchDisk(context: AttemptContext, job: Job): Promise<GrowthWatch | null> {
  const { grant, workspace, paths } = job;
  const folder = workspace.path;
  const cap = grant.limits.disk;
  if (cap === undefined) return null;
  const watch = await watchGrowth({
    path: folder,
    // Everything on the disk that the agent can write to, and its open files without a name.
    others: [
      paths.mailbox,
      paths.layers,
      workspace.agentGit?.source,
      paths.session && dirname(paths.session),
    ].filter((path) => path != null && !isWithin(folder, path) && existsSync(path)) as string[],
    // What the agent says and does becomes lines, so the file of them is the agent's as well.
    unseenBytes: () =>
      context.writer.bytes() +
      (context.running === null
        ? 0
        : measureUnlinked(context.running.initPid ?? context.running.pid, folder)),
    // The worker and its host have sockets to the sandbox: data sent there waits in their queues.
    findHiding: () =>
      context.running === null
        ? null
        : findHiding(context.running.initPid ?? context.running.pid, folder, [process.pid, process.ppid]),
    maxGrowthBytes: cap,
    onExceeded: (growth, why) => {
      context.gathered.limit = {
        reason: 'provider-failed',
        cause: 'disk',
        detail: describeExcess(growth, cap, watch.maxGrowthBytes, why) + describeLines(context, growth),
      };
      context.running?.kill();
    },
  });
  return watch;
}

function describeExcess(growth: number, cap: number, limit: number, why: string | undefined): string {
  const what = why === undefined ? 'the workspace' : `the disk of the workspace`;
  const grown = `${what} grew by ${growth} bytes, the limit is ${limit}`;
  const free = limit < cap ? ': nine tenths of what was free on its disk' : '';
  return why === undefined ? grown + free : `${grown}${free}; all of it counts, because ${why}`;
}

/** A person who looks for the growth does not find it in the workspace then. */
function describeLines({ writer }: AttemptContext, growth: number): string {
  const bytes = writer.bytes();
  return bytes > growth / 2 ? `; ${bytes} bytes are the record of what the agent said and did` : '';
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
