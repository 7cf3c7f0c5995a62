/**
 * A disk that loses what was not synced: ext4 in a file, on a loop device, shut down without writing its log. What a
 * process was promised to be durable must be there after the next mount; everything else may be gone.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { findDiskObstacle, mountExt4 } from './harness/disks.ts';
import type { Disk } from './harness/contract.ts';

export interface FragileDisk {
  readonly path: string;
  /** The power goes, with all that runs on the disk, and comes back: the disk is mounted again. */
  cut(running?: ChildProcess): void;
}

/** Null where no loop device can be mounted: who is not root, or in a container. */
export function mountFragileDisk(): FragileDisk | null {
  if (findDiskObstacle('ext4') !== null) return null;
  const base = mkdtempSync(join(tmpdir(), 'caisson-disk-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const disk = tryMount(base);
  if (disk === null) return null;
  onTestFinished(() => disk.remove());
  return {
    path: disk.path,
    cut(running) {
      disk.cutPower?.();
      running?.kill('SIGKILL');
      disk.renew();
    },
  };
}

function tryMount(base: string): Disk | null {
  try {
    return mountExt4(base);
  } catch {
    return null; // a container may have the device and not the right to mount it
  }
}
