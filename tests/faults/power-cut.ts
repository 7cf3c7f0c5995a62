/**
 * A disk that loses what was not synced: ext4 in a file, on a loop device, shut down without writing its log. What a
 * process was promised to be durable must be there after the next mount; everything else may be gone.
 */
import { execFileSync, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { until } from '../e2e/project.ts';

export interface FragileDisk {
  readonly path: string;
  /** The power goes, with all that runs on the disk, and comes back: the disk is mounted again. */
  cut(running?: ChildProcess): Promise<void>;
}

/** EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH. */
const SHUTDOWN =
  'open(my $d, "<", $ARGV[0]) or die "open: $!"; my $f = pack("L", 2); ioctl($d, 0x8004587d, $f) or die "ioctl: $!"';
/** Nothing is written by itself while a test runs. */
const MOUNT_OPTIONS = 'loop,commit=3600';

/** Null where no loop device can be mounted: who is not root, or in a container. */
export function mountFragileDisk(megabytes = 96): FragileDisk | null {
  const base = mkdtempSync(join(tmpdir(), 'caisson-disk-'));
  const image = join(base, 'image');
  const path = join(base, 'disk');
  mkdirSync(path);
  execFileSync('truncate', ['-s', `${megabytes}M`, image]);
  execFileSync('mkfs.ext4', ['-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image]);
  const mount = (): number | null => spawnSync('mount', ['-o', MOUNT_OPTIONS, image, path]).status;
  if (mount() !== 0) {
    rmSync(base, { recursive: true });
    return null;
  }
  onTestFinished(() => {
    spawnSync('umount', ['--lazy', path]);
    rmSync(base, { recursive: true, force: true });
  });
  return {
    path,
    async cut(running) {
      execFileSync('perl', ['-e', SHUTDOWN, path]);
      running?.kill('SIGKILL');
      await until('nobody is on the disk', () => spawnSync('umount', [path]).status === 0);
      // A sandbox that is about to end has the disk in a namespace of its own.
      await until('the disk is off', () => execFileSync('losetup', ['-j', image]).length === 0);
      if (mount() !== 0) throw new Error(`${image} could not be mounted again`);
    },
  };
}
