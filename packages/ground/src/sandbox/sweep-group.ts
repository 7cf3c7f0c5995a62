// A separate cgroup for one plain launch, below the attempt's: it contains only this launch, so it can be stopped as a
// whole without touching its siblings.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface SweepGroup {
  /** What the launch joins: the attempt's groups, and this one instead of its parent. */
  readonly procsFiles: readonly string[];
  /** Those of them that no other launch uses. */
  readonly ownProcsFiles: readonly string[];
  pids(): number[];
  /**
   * Nothing in the group runs any more until `thaw`; if the kernel supports it, everything is killed at once instead.
   */
  freeze(): void;
  thaw(): void;
  close(): void;
}

/** Opens the group below the freezer hierarchy if there is one (it can stop a fork bomb), else below the first. */
export function openSweepGroup(cgroupPaths: readonly string[], launchId: string): SweepGroup {
  const chosen =
    cgroupPaths.find((path) => existsSync(join(dirname(path), 'freezer.state'))) ?? cgroupPaths[0];
  if (chosen === undefined)
    return {
      procsFiles: [],
      ownProcsFiles: [],
      pids: () => [],
      freeze: () => {},
      thaw: () => {},
      close: () => {},
    };
  const folder = join(dirname(chosen), `launch-${launchId}`);
  mkdirSync(folder);
  const procsFile = join(folder, 'cgroup.procs');
  return {
    procsFiles: cgroupPaths.map((path) => (path === chosen ? procsFile : path)),
    ownProcsFiles: [procsFile],
    pids: () => readFileSync(procsFile, 'utf8').split('\n').filter(Boolean).map(Number),
    freeze: () => {
      if (writeIfThere(join(folder, 'cgroup.kill'), '1')) return;
      writeIfThere(join(folder, 'freezer.state'), 'FROZEN');
    },
    thaw: () => {
      writeIfThere(join(folder, 'freezer.state'), 'THAWED');
    },
    close: () => removeGroup(folder),
  };
}

function writeIfThere(path: string, value: string): boolean {
  if (!existsSync(path)) return false;
  writeFileSync(path, value);
  return true;
}

function removeGroup(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    // Busy while the last dead process is being removed; the attempt's group is removed after it.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'EBUSY' && code !== 'ENOENT') throw error;
  }
}
