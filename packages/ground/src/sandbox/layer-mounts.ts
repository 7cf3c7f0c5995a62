// Private layers on folders of the host: overlay mounts, made in the sandbox's own mount namespace.
//
// bubblewrap makes them itself from version 0.11 on; Debian 12 and Ubuntu 24.04 have older ones. So bubblewrap binds the
// folder read-only and the store on a stage, and while the program waits at the start gate a Perl program enters the
// mount namespace (perl-helper.ts), as the owner of the user namespace it belongs to. It mounts an overlay on each folder and takes the
// stage away. Where that fails the launch is repeated without a store: the folders are then read-only (S6).
//
// An overlay shows the folder without the mounts in it, so what the plan hides or guards there is mounted again on top. A
// path that an earlier program removed or replaced in the layer is passed over: the folder's own file is not visible there.
//
// - `userxattr`: an overlay of a user namespace marks deleted files with these; with them the kernel follows no
//   redirect that the content of a folder names.
// - `volatile`: the layer is thrown away; without it the end of each sandbox would sync the whole disk.
// - Options name no path of the user, because a comma or a colon in one would be read as another option.
import { mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { unusedName } from '../platform/index.ts';
import type { SandboxSpec } from './contract.ts';
import { CLONE_NEWUSER } from './inotify-limit.ts';
import type { Mount } from './mount-plan.ts';

/** Where the store is visible while the sandbox is built; under a replaced folder. */
export const LAYER_STAGE = '/run/caisson-layers';

const CLONE_NEWNS = 0x20000;
const NS_GET_USERNS = 0xb701;
const MS_NOSUID_NODEV = 6;
const MS_BIND = 0x1000;
const MS_READ_ONLY = 1;
const MS_REMOUNT = 0x20;
const MNT_DETACH = 2;
/** The same number on every architecture. Of an older kernel than Linux 5.12 it fails, and nothing changes. */
const MOUNT_SETATTR = 442;
const AT_FDCWD = -100;

/** Nodes of the host that bubblewrap binds. Their owner could change their mode for every user of the machine. */
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`);

/** Perl; has $setns, $mount, $umount, the $pid of the first process and the @words of `LayerMounts`. Ends its process. */
export const MOUNT_LAYERS = `
my $stage = '${LAYER_STAGE}';
open my $ns, '<', "/proc/$pid/ns/mnt" or exit 1;
my $owner = ioctl($ns, ${NS_GET_USERNS}, 0) or exit 2;
syscall($setns, $owner + 0, ${CLONE_NEWUSER}) == 0 or exit 3;
syscall($setns, fileno($ns), ${CLONE_NEWNS}) == 0 or exit 4;
my ($read_only, $devices) = (pack('Q4', 1, 0, 0, 0), shift @words);
syscall(${MOUNT_SETATTR}, ${AT_FDCWD}, $_, 0, $read_only, length $read_only) for splice @words, 0, $devices;
exit 0 if !shift @words;
my ($type, $here, $memory, $small, $null) = ('overlay', '.', 'tmpfs', 'size=4k,mode=555', '/dev/null');
while (my ($name, $work, $target, $count) = splice @words, 0, 4) {
  my $options = "lowerdir=.,upperdir=$stage/$name/upper,workdir=$stage/$name/$work,userxattr,volatile";
  chdir $target or exit 5;
  syscall($mount, $type, $here, $type, ${MS_NOSUID_NODEV}, $options) == 0 or exit 6;
  while ($count-- > 0) {
    my ($how, $path) = splice @words, 0, 2;
    next if !lstat $path or -l _ or $how eq 'file' && -d _ or $how eq 'folder' && !-d _;
    if ($how eq 'folder') {
      syscall($mount, $memory, $path, $memory, ${MS_NOSUID_NODEV | MS_READ_ONLY}, $small) == 0 or exit 9;
      next;
    }
    my $source = $how eq 'file' ? $null : $path;
    syscall($mount, $source, $path, $type, ${MS_BIND}, 0) == 0 or exit 10;
    syscall($mount, $source, $path, $type, ${MS_BIND | MS_REMOUNT | MS_READ_ONLY | MS_NOSUID_NODEV}, 0) == 0 or exit 11;
  }
}
chdir '/' or exit 7;
syscall($umount, $stage, ${MNT_DETACH}) == 0 or exit 8;
exit 0;`;

/** What is mounted once the sandbox has its first process. */
export interface LayerMounts {
  /** Without them the launch is repeated. */
  readonly hasLayers: boolean;
  readonly words: readonly (string | number)[];
}

/**
 * The layers, and for root the devices, whose modes become read-only: the agent is their owner. `null` if there is nothing
 * to mount.
 */
export function planLayerMounts(spec: SandboxSpec, plan: readonly Mount[]): LayerMounts | null {
  const layers = describeLayers(spec, plan);
  const devices = process.getuid?.() === 0 ? DEVICES : [];
  const hasLayers = layers !== null;
  if (!hasLayers && devices.length === 0) return null;
  return { hasLayers, words: [devices.length, ...devices, hasLayers ? 1 : 0, ...(layers ?? [])] };
}

function describeLayers(spec: SandboxSpec, plan: readonly Mount[]): (string | number)[] | null {
  const store = spec.layers?.store;
  if (store === undefined || !plan.some(({ target }) => target === LAYER_STAGE)) return null;
  return plan.filter(isLayered).flatMap((mount) => {
    const covers = findCovers(mount, plan);
    if (covers === null) return [];
    return [mount.layer, makeLayer(join(store, mount.layer)), mount.target, covers.length, ...covers.flat()];
  });
}

/** Layers that are read-only: all without a stage, and those with a mount in them that cannot be repeated. */
export function listReadOnlyLayers(plan: readonly Mount[]): string[] {
  const isStaged = plan.some(({ target }) => target === LAYER_STAGE);
  return plan
    .filter(isLayered)
    .filter((mount) => !isStaged || findCovers(mount, plan) === null)
    .map(({ target }) => target);
}

type LayeredMount = Mount & { readonly kind: 'bind'; readonly layer: string };

const isLayered = (mount: Mount): mount is LayeredMount => mount.kind === 'bind' && mount.layer !== undefined;

type Cover = readonly [how: 'file' | 'folder' | 'read-only', target: string];

/** What is hidden or guarded in the folder; `null` if it has a mount of another kind. */
function findCovers(layered: LayeredMount, plan: readonly Mount[]): Cover[] | null {
  const covers = plan
    .filter(({ target }) => target.startsWith(`${layered.target}/`))
    .map((mount) => coverOf(layered, mount));
  return covers.every((cover) => cover !== null) ? covers : null;
}

function coverOf(layered: LayeredMount, mount: Mount): Cover | null {
  if (mount.kind === 'scratch') return ['folder', mount.target];
  if (mount.kind !== 'bind' || mount.writable) return null;
  if (mount.source === '/dev/null') return ['file', mount.target];
  const own = join(layered.source, relative(layered.target, mount.target));
  return mount.source === own ? ['read-only', mount.target] : null;
}

/** Each mount needs a working folder of its own: a volatile overlay refuses one that was used before. */
function makeLayer(folder: string): string {
  const work = unusedName();
  for (const name of ['upper', work]) mkdirSync(join(folder, name), { recursive: true, mode: 0o755 });
  return work;
}
