/**
 * Folders of the agent's HOME that outlive the attempt, so that a conversation can be resumed. Each is its own folder
 * on the host, beside the folder that the agent sees and never in it: in every folder that an agent can write to, it
 * can make a link, and the next attempt would mount the link's target.
 */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Bind, Job } from '@caisson/protocol';

/** Makes the folders; returns how they are mounted. Without a sandbox they are linked into the private HOME instead. */
export function openKeptFolders(job: Job, kept: readonly string[]): Bind[] {
  const { session } = job.paths;
  if (session === null) return [];
  const binds = kept.map((target) => {
    const name = target.slice(job.sandbox.home.length + 1).replaceAll('/', '_');
    return { source: join(dirname(session), 'kept', name), target, writable: true };
  });
  for (const { source } of binds) mkdirSync(source, { recursive: true, mode: 0o700 });
  if (job.grant.sandbox !== 'none') return binds;
  for (const { source, target } of binds) linkInto(target, source);
  return [];
}

function linkInto(target: string, source: string): void {
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  if (!existsSync(target)) symlinkSync(source, target);
}
