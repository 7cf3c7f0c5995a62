/** A group made by another process, known only by its `cgroup.procs` files: a later host can read, end and remove it. */
import { dirname, join } from 'node:path';
import type { CgroupEvents } from './contract.ts';
import { killMembers, listMembers, readCount, readLimit, removeGroup } from './group-files.ts';

const MEMORY_FILES = ['memory.usage_in_bytes', 'memory.current'];

export interface ReopenedCgroup {
  /** Members of the group and of every group below it. */
  pids(): number[];
  events(): CgroupEvents;
  /** What its processes use now, with their file cache; 0 if that is not known. */
  memoryBytes(): number;
  /** Kills everything in it, a fork bomb included; resolves when it is empty. */
  kill(): Promise<void>;
  /** Removes the emptied group; one that is gone already is fine. */
  remove(): Promise<void>;
}

/** Opens a group again by the files in a handle. */
export function reopenCgroup(procsFiles: readonly string[]): ReopenedCgroup {
  const folders = procsFiles.map((file) => dirname(file));
  return {
    pids: () => [...new Set(folders.flatMap(listMembers))],
    events: () => ({
      oomKills: most(folders, ['memory.oom_control', 'memory.events'], 'oom_kill'),
      pidsMax: most(folders, ['pids.events'], 'max'),
    }),
    memoryBytes: () =>
      Math.max(
        0,
        ...folders.flatMap((folder) => MEMORY_FILES.map((name) => readLimit(join(folder, name)) ?? 0)),
      ),
    kill: () => killMembers(folders),
    async remove() {
      await killMembers(folders);
      for (const folder of folders) await removeGroup(folder);
    },
  };
}

/** Each version of the kernel's groups has its own name for a file, in one of the folders. */
function most(folders: readonly string[], names: readonly string[], word: string): number {
  return Math.max(
    0,
    ...folders.flatMap((folder) => names.map((name) => readCount(join(folder, name), word))),
  );
}
