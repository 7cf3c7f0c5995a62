/** Our copies of remote repositories that no run needs any more. */
import type { Engine } from '../engine.ts';
import type { DroppedRemote } from '../workspace/index.ts';
import { ageOfOldestOpenRun } from './blob-roots.ts';
import type { GarbageOptions } from './garbage-report.ts';

export async function pruneRemotes(
  engine: Engine,
  graceMs: number,
  { remotesTtlMs }: GarbageOptions,
): Promise<readonly DroppedRemote[]> {
  const { stateDir, git } = engine.config;
  return await engine.workspaces.pruneRemotes({
    ...{ stateDir, graceMs, olderThanMs: remotesTtlMs ?? git.cacheAgeMs },
    openRunMs: () => ageOfOldestOpenRun(engine),
  });
}
