/**
 * A disk that loses what was not synced: ext4 in a file, on a loop device, shut down without writing its log. What a
 * process was promised to be durable must be there after the next mount; everything else may be gone.
 */
import { execFileSync, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface FragileDisk {
  readonly path: string;
  /** The power goes, with all that runs on the disk, and comes back: the disk is mounted again. */
  cut(running?: ChildProcess): void;
}

/** EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH. */
const SHUTDOWN =
  'open(my $d, "<", $ARGV[0]) or die "open: $!"; my $f = pack("L", 2); ioctl($d, 0x8004587d, $f) or die "ioctl: $!"';
/** Nothing is written by itself while a test runs. */
const MOUNT_OPTIONS = 'loop,commit=3600';

/** Null where no loop device can be mounted: who is not root, or in a container. */
export function mountFragileDisk(megabytes = 96): FragileDisk | null {
  const base = mkdtempSync(join(tmpdir(), 'caisson-disk-'));
  const path = join(base, 'disk');
  let image = join(base, 'image');
  mkdirSync(path);
  execFileSync('truncate', ['-s', `${megabytes}M`, image]);
  execFileSync('mkfs.ext4', ['-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image]);
  const mount = (): boolean => spawnSync('mount', ['-o', MOUNT_OPTIONS, image, path]).status === 0;
  if (!mount()) {
    rmSync(base, { recursive: true });
    return null;
  }
  onTestFinished(() => {
    spawnSync('umount', ['--lazy', path]);
    rmSync(base, { recursive: true, force: true });
  });
  return {
    path,
    cut(running) {
      execFileSync('perl', ['-e', SHUTDOWN, path]);
      running?.kill('SIGKILL');
      execFileSync('umount', ['--lazy', path]);
      // What others run in namespaces of their own may hold the dead disk for long: a copy of it goes on.
      const copy = `${image}.on`;
      execFileSync('cp', ['--sparse=always', image, copy]);
      image = copy;
      if (!mount()) throw new Error(`${image} could not be mounted`);
    },
  };
}
