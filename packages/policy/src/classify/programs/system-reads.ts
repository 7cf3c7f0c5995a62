/** Forms of machine-changing programs that only report, test or work on a file. */
import type { Call } from '../inspector.ts';
import { kindOfPath } from '../path-kind.ts';
import { isUnknown } from '../unknown-text.ts';

/** Per program: an option with which it only reports. */
const ASKS: Readonly<Record<string, RegExp>> = {
  swapon: /^(--show\S*|-s|--summary)$/,
  mdadm: /^(--detail|--examine|-D|-E|--query|-Q)$/,
  tune2fs: /^-l$/,
  wipefs: /^(-n|--no-act)$/,
  e2fsck: /^-n$/,
  fsck: /^-[nN]$/,
  'fsck.ext4': /^-n$/,
  xfs_repair: /^-n$/,
  ntfsfix: /^(-n|--no-action)$/,
  sfdisk: /^(-d|-l|--dump|--list|-J|--json|-n|--no-act)$/,
  sgdisk: /^(-p|--print|-i|--info\S*|-P|--pretend)$/,
  lvremove: /^(-t|--test)$/,
  vgremove: /^(-t|--test)$/,
  pvremove: /^(-t|--test)$/,
  lvextend: /^(-t|--test)$/,
  lvreduce: /^(-t|--test)$/,
  modprobe: /^(-n|--dry-run|--show-depends|--showconfig)$/,
  ldconfig: /^(-p|--print-cache)$/,
  'update-alternatives': /^--(display|list|query|get-selections)$/,
  ufw: /^(status|show|--dry-run|version)$/,
  'firewall-cmd': /^--(list-\S+|get-\S+|state|info-\S+|query-\S+)$/,
  ipset: /^(list|-L|save|test)$/,
  nvme: /^(list|id-ctrl|smart-log)$/,
  efibootmgr: /^-v$/,
  bootctl: /^(status|list)$/,
  netplan: /^(get|status|info)$/,
  visudo: /^(-c|--check|-cf)$/,
  passwd: /^(-S|--status)$/,
  auditctl: /^(-l|-s)$/,
  semanage: /^(-l|--list)$/,
  'apt-mark': /^show\w+$/,
  'iptables-restore': /^(-t|--test)$/,
  conntrack: /^(-L|-C|-S)$/,
  exportfs: /^-v$/,
  at: /^(-l|-c)$/,
  hwclock: /^(-r|--show|--get)$/,
  debugfs: /^(-R)$/,
  hdiutil: /^(info|imageinfo|verify)$/,
  csrutil: /^status$/,
  softwareupdate: /^(-l|--list)$/,
  fwupdmgr: /^get-\w+$/,
  'nixos-rebuild': /^(dry-build|dry-activate|build)$/,
};

export function onlyAsks(name: string, args: readonly string[]): boolean {
  const asks = Object.hasOwn(ASKS, name) ? ASKS[name] : undefined;
  return (
    asks !== undefined && args.some((arg) => asks.test(arg)) && !(name === 'debugfs' && args.includes('-w'))
  );
}

/** `zfs destroy -nv`. */
export function isDryRunCall(args: readonly string[]): boolean {
  return args.some((arg) => /^-[a-zA-Z]*n[a-zA-Z]*$/.test(arg) || arg === '--dry-run');
}

/** `mkfs.ext4 disk.img`: a file system in a plain file that is no device. */
export function makesImage(name: string, { args, scope }: Call): boolean {
  if (!/^(mkfs(\.\w+)?|mke2fs|mkdosfs|mkntfs|mkswap)$/.test(name)) return false;
  const files = args.filter((arg) => !arg.startsWith('-') && /[./]/.test(arg));
  return (
    files.length > 0 &&
    files.every((file) => {
      const kind = kindOfPath(file, scope);
      if (isUnknown(file)) return false;
      return (
        kind === 'temp' ||
        (['plain', 'regenerable'].includes(kind) && /\.(img|raw|bin|iso|ext[234]|fs|qcow2|disk)$/.test(file))
      );
    })
  );
}
