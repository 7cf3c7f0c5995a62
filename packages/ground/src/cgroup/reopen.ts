/** A group made by another process, known only by its `cgroup.procs` files: a later host can end and remove it. */
import { dirname } from 'node:path';
import { killMembers, listMembers, removeGroup } from './group-files.ts';

export interface ReopenedCgroup {
  /** Members of the group and of every group below it. */
  pids(): number[];
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
    kill: () => killMembers(folders),
    async remove() {
      await killMembers(folders);
      for (const folder of folders) await removeGroup(folder);
    },
  };
}
