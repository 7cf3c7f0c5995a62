/** File systems that belong to one case: small, and gone with it. All of them need root. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Disk } from './contract.ts';

const IMAGE_BYTES = 96 * 2 ** 20;
/** EXT4_IOC_SHUTDOWN with NOLOGFLUSH: what is not on the medium by now is lost, the journal's newest part included. */
const CUT_POWER = 'open(F,"<",$ARGV[0]) or die; $how=pack("L",2); ioctl(F,0x8004587d,$how) or die "$!"';

export function findDiskObstacle(kind: 'tmpfs' | 'ext4' | 'fuse'): string | null {
  if (process.getuid?.() !== 0) return 'only root can mount a disk';
  if (kind === 'tmpfs') return null;
  if (kind === 'ext4') {
    if (!existsSync('/usr/sbin/mkfs.ext4') && !existsSync('/sbin/mkfs.ext4')) return 'mkfs.ext4 is missing';
    return existsSync('/dev/loop-control') ? null : 'there are no loop devices';
  }
  if (!existsSync('/dev/fuse')) return 'the kernel has no FUSE';
  return existsSync('/usr/bin/bindfs') ? null : 'bindfs is missing: apt-get install bindfs';
}

export function mountTmpfs(path: string, size: string): Disk {
  mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', path]);
  return { path, renew: () => undefined, remove: () => unmount(path) };
}

/** ext4 in a file: loses what was not synced, as a real disk does. */
export function mountExt4(folder: string): Disk {
  const path = join(folder, 'ext4');
  let image = join(folder, 'ext4.image');
  mkdirSync(path);
  execFileSync('truncate', ['-s', String(IMAGE_BYTES), image]);
  execFileSync('mkfs.ext4', ['-q', '-F', '-E', 'lazy_itable_init=0,nodiscard', image]);
  // Nothing reaches the medium by itself while a case runs.
  const options = 'loop,errors=remount-ro,commit=3600';
  const mount = (): void => void execFileSync('mount', ['-o', options, image, path]);
  mount();
  return {
    path,
    cutPower: () => void execFileSync('perl', ['-e', CUT_POWER, path]),
    turnReadOnly: () => void execFileSync('mount', ['-o', 'remount,abort', path]),
    renew() {
      // A sandbox of another test may hold the dead disk for long, in a namespace of its own: a copy of it goes on.
      execFileSync('umount', ['--lazy', path]);
      const copy = `${image}.on`;
      execFileSync('cp', ['--sparse=always', image, copy]);
      image = copy;
      mount();
    },
    sync: () => void execFileSync('sync', ['--file-system', path]),
    remove: () => unmount(path),
  };
}

/** A folder seen through FUSE. When its server dies, every open handle is stale for ever, as after a lost NFS server. */
export function mountFuse(folder: string): Disk {
  const path = join(folder, 'fuse');
  const source = join(folder, 'fuse.source');
  mkdirSync(path);
  mkdirSync(source);
  let server = startFuse(source, path);
  return {
    path,
    goStale() {
      process.kill(server, 'SIGKILL');
      // Only a mount whose server is gone can be taken away for good.
      execFileSync('sh', ['-c', 'until umount --lazy "$1"; do sleep 0.02; done', 'sh', path], {
        timeout: 5000,
      });
    },
    renew() {
      server = startFuse(source, path);
    },
    remove: () => unmount(path),
  };
}

/** Returns the server's pid once the folder is mounted. */
function startFuse(source: string, path: string): number {
  const program = `bindfs -f "$1" "$2" >/dev/null 2>&1 & echo $!
    for look in $(seq 1500); do mountpoint -q "$2" && exit 0; sleep 0.02; done; exit 1`;
  return Number(execFileSync('sh', ['-c', program, 'sh', source, path], { encoding: 'utf8' }));
}

/** Fills a disk to its last block. */
export function fillDisk(path: string): void {
  for (const size of ['1M', '64k', '4k', '1k'])
    spawnSync('sh', ['-c', `dd if=/dev/zero of=${fillerOf(path)} bs=${size} oflag=append conv=notrunc`]);
}

export function fillerOf(path: string): string {
  return join(path, 'filler');
}

function unmount(path: string): void {
  spawnSync('umount', ['--lazy', path]);
}
