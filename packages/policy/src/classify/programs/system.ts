/** Programs that change the machine: packages, services, users, disks, network, kernel. */
import { hit, type Hit } from '../finding.ts';
import type { Handler } from '../inspector.ts';
import { makesImage, onlyAsks, isDryRunCall } from './system-reads.ts';
import { forkScope } from '../shell-scope.ts';

const changes = hit('system_modify', 'system-program');
const reads = hit('file_read', 'read-only-program');

/** Always a change to the machine. */
const ALWAYS = new Set(
  'useradd userdel usermod adduser deluser groupadd groupdel groupmod delgroup addgroup gpasswd chpasswd passwd chsh chfn visudo vipw newusers mkswap swapon swapoff sfdisk gdisk sgdisk cfdisk wipefs blkdiscard mkfs mke2fs mkdosfs lvremove vgremove pvremove lvcreate vgcreate pvcreate lvreduce lvextend mdadm tune2fs resize2fs e2fsck fsck debugfs shutdown reboot halt poweroff telinit init kexec insmod rmmod modprobe depmod grub-install update-grub grub-mkconfig efibootmgr setenforce update-rc.d chkconfig update-initramfs dracut ufw iptables-restore ip6tables-restore setcap ldconfig killall5 pivot_root update-alternatives dpkg-reconfigure installer softwareupdate csrutil nvram bless kextload hdiutil chattr mknod debootstrap hwclock dphys-swapfile usbreset sg_format nvme scsi-format flashrom fwupdmgr authconfig setsebool semanage apparmor_parser aa-disable auditctl at batch atrm conntrack ebtables arptables firewall-cmd nixos-rebuild chcon restorecon mkinitcpio grub2-install grub2-mkconfig lvresize vgreduce pvresize vgexport cgdelete partprobe partx kpartx tpm2_clear zerofree xfs_repair xfs_growfs ntfsfix mkntfs mkudffs fstrim quotaoff exportfs luserdel lgroupdel setterm-off brctl ovs-vsctl ipset wg-quick rfkill bcdedit diskpart vssadmin fsutil cipher schtasks takeown icacls wevtutil sysrc freebsd-update gpart newfs tunefs dd_rescue fdformat mtx ipmitool racadm systemd-cryptenroll systemd-repart bootctl kernel-install homectl pg_dropcluster pg_resetwal pg_rewind initdb mysql_install_db xbps-remove xbps-install swupd apt-mark eopkg opkg ifdown ifup dhclient netplan fsfreeze dpkg-divert dpkg-statoverride newfs_hfs newfs_apfs newfs_msdos newfs_exfat nix-collect-garbage tmpreaper tmpwatch'.split(
    ' ',
  ),
);

/** Verbs (first operand) that only read; everything else changes the machine. */
const READ_VERBS: Record<string, RegExp> = {
  apt: /^(list|show|search|policy|depends|rdepends|changelog)$/,
  'apt-get': /^(changelog|download|check|indextargets)$/,
  aptitude: /^(search|show|why)$/,
  dnf: /^(list|info|search|repolist|provides|check-update|history|repoquery)$/,
  yum: /^(list|info|search|repolist|provides|check-update|history)$/,
  zypper: /^(search|se|info|if|list-updates|lu|repos|lr)$/,
  apk: /^(list|info|search|policy|version|stats)$/,
  brew: /^(list|ls|info|search|outdated|deps|uses|leaves|config|doctor|--prefix|--version|services|home|cat|desc|log|shellenv)$/,
  port: /^(list|info|search|installed|outdated|contents)$/,
  snap: /^(list|info|find|version|changes|known)$/,
  flatpak: /^(list|info|search|remotes|history|ps|run)$/,
  emerge: /^(--search|-s|--info|--pretend|-p)$/,
  choco: /^(list|search|info|outdated)$/,
  winget: /^(list|search|show)$/,
  scoop: /^(list|search|info|status)$/,
  systemctl: /^(status|show|list-.*|is-.*|cat|help|get-default)$/,
  launchctl: /^(list|print|getenv|blame)$/,
  hostnamectl: /^(status|)$/,
  timedatectl: /^(status|show|list-timezones|)$/,
  localectl: /^(status|list-.*|)$/,
  loginctl: /^(list-.*|show-.*|.*-status|)$/,
  nmcli: /^(general|g|networking|device|dev|d|connection|con|c|)$/,
  'rc-service': /^(-l|--list)$/,
  pfctl: /^$/,
};

const PATTERNED: Record<string, (args: readonly string[]) => boolean> = {
  service: (args) => !/^(status|--status-all)$/.test(args[1] ?? args[0] ?? ''),
  dpkg: (args) =>
    args.some((arg) => /^(-i|-r|-P|--install|--remove|--purge|--unpack|--configure|-a|--force.*)$/.test(arg)),
  rpm: (args) =>
    args.some(
      (arg) =>
        /^(-[a-zA-Z]*[eiUF][a-zA-Z]*|--erase|--install|--upgrade|--import)$/.test(arg) && !/^-q/.test(arg),
    ),
  pacman: (args) =>
    args.some((arg) => /^-(S(?![si]$)|R|U)/.test(arg) || /^--(sync|remove|upgrade)$/.test(arg)),
  yay: (args) => !args.some((arg) => /^-Q|^-Ss/.test(arg)),
  'nix-env': (args) => args.some((arg) => /^(-i|-e|-u|--install|--uninstall|--upgrade|-iA)$/.test(arg)),
  sysctl: (args) => args.some((arg) => /^(-w|--write|-p|--load|--system)/.test(arg) || arg.includes('=')),
  mount: (args) => args.length > 0 && !['-l', '--version', '-V'].includes(args[0] ?? ''),
  umount: (args) => args.length > 0,
  losetup: (args) => args.length > 0 && !/^(-a|-l|--list|--all)$/.test(args[0] ?? ''),
  fdisk: (args) => !args.some((arg) => /^(-l|--list|--version|-v)$/.test(arg)),
  parted: (args) => !args.some((arg) => /^(-l|--list|print)$/.test(arg)),
  hdparm: (args) => args.some((arg) => /^(--security|--trim|-[a-zA-Z]*[wyY])/.test(arg)),
  badblocks: (args) => args.some((arg) => /^-\w*w/.test(arg)),
  cryptsetup: (args) => !/^(status|isLuks|luksDump)$/.test(args[0] ?? ''),
  dmsetup: (args) => !/^(ls|info|status|table)$/.test(args[0] ?? ''),
  zpool: (args) => !/^(status|list|get|history|iostat|events)$/.test(args[0] ?? '') && !isDryRunCall(args),
  zfs: (args) => !/^(list|get|diff|holds|version)$/.test(args[0] ?? '') && !isDryRunCall(args),
  btrfs: (args) => args.some((arg) => /^(delete|create|format|resize|replace|remove)$/.test(arg)),
  crontab: (args) => !args.includes('-l'),
  iptables: (args) => !args.some((arg) => /^(-[a-zA-Z]*[LS][a-zA-Z]*|--list.*)$/.test(arg)),
  ip6tables: (args) => !args.some((arg) => /^(-[a-zA-Z]*[LS][a-zA-Z]*|--list.*)$/.test(arg)),
  nft: (args) => !args.includes('list'),
  ip: (args) => args.some((arg) => /^(add|del|delete|set|flush|change|replace|up|down)$/.test(arg)),
  resolvectl: (args) =>
    /^(dns|domain|default-route|llmnr|mdns|dnssec|nta|revert|dnsovertls)$/.test(args[0] ?? '') &&
    args.length > 2,
  ifconfig: (args) => args.length > 1,
  route: (args) => args.some((arg) => /^(add|del|delete|flush|change)$/.test(arg)),
  tc: (args) => args.some((arg) => /^(add|del|change|replace)$/.test(arg)),
  date: (args) => args.some((arg) => /^(-s|--set)/.test(arg)),
  chage: (args) => !args.includes('-l'),
  defaults: (args) => /^(write|delete|import)$/.test(args[0] ?? ''),
  diskutil: (args) =>
    !/^(list|info|apfs)$/.test(args[0] ?? '') || args.some((arg) => /delete|erase/i.test(arg)),
  dscl: (args) => args.some((arg) => /^-?(create|delete|append|passwd|change|merge)$/.test(arg)),
  tmutil: (args) => !/^(list.*|status|latestbackup|version)$/.test(args[0] ?? ''),
  spctl: (args) => args.some((arg) => /^--(master-disable|disable|add|remove|global-disable)$/.test(arg)),
  networksetup: (args) => /^-(set|remove|create|delete)/.test(args[0] ?? ''),
  pmset: (args) => args[0] !== '-g',
  scutil: (args) => args.includes('--set'),
  journalctl: (args) => args.some((arg) => /^--(vacuum|rotate|flush)/.test(arg)),
  logrotate: (args) => args.some((arg) => /^(-f|--force)$/.test(arg)),
  reg: (args) => /^(delete|add|import)$/i.test(args[0] ?? ''),
  format: (args) => /^[a-z]:/i.test(args[0] ?? ''),
  swapoff: () => true,
  ethtool: (args) => args.some((arg) => /^-[sACGKLXpE]$|^--(change|set|offload)/.test(arg)),
  pg_ctl: (args) => args.some((arg) => /^(stop|restart|promote|kill|initdb)$/.test(arg)),
  pg_ctlcluster: (args) => args.some((arg) => /^(stop|restart|promote)$/.test(arg)),
  nginx: (args) => args.some((arg) => /^(stop|quit)$/.test(arg)),
  apachectl: (args) => args.some((arg) => /^(stop|graceful-stop)$/.test(arg)),
  supervisorctl: (args) => args.some((arg) => /^(stop|shutdown|remove|clear)$/.test(arg)),
  sv: (args) => /^(down|stop|exit|kill|force-.*|d|x)$/.test(args[0] ?? ''),
  initctl: (args) => /^(stop|emit)$/.test(args[0] ?? ''),
  fuser: (args) => args.some((arg) => /^-\w*k/.test(arg)) && args.some((arg) => /^-\w*m|^\//.test(arg)),
  auditctl: (args) => args.some((arg) => /^-[DdeE]/.test(arg)),
  pkg: (args) =>
    !/^(info|search|query|audit|version|which|stats|list)$/.test(
      args.find((arg) => !arg.startsWith('-')) ?? '',
    ),
  pw: (args) => /^(user|group)?(del|mod|add)/.test(args[0] ?? ''),
  net: (args) => /^(user|localgroup|stop|share)$/i.test(args[0] ?? '') && args.length > 2,
  sc: (args) => /^(delete|stop|config)$/i.test(args[0] ?? ''),
  netsh: (args) => !args.includes('show') && args.length > 0,
  pnputil: (args) => args.some((arg) => /^[-/](delete|disable|remove|add)/i.test(arg)),
  wmic: (args) => args.some((arg) => /^(delete|terminate|call)$/i.test(arg)),
  sync: () => false,
};

/** The handler of a system program, or null when the name is none. */
export function findSystemProgram(name: string): Handler | null {
  if (name.startsWith('mkfs.') || name.startsWith('fsck.') || ALWAYS.has(name)) {
    return (call) => {
      if (call.args.some((arg) => arg === '--help' || arg === '--version')) return reads;
      if (onlyAsks(name, call.args)) return reads;
      if (makesImage(name, call)) return hit('file_write', 'disk-image');
      if (name === 'at' || name === 'batch') runScheduled(call);
      return changes;
    };
  }
  const readVerbs = Object.hasOwn(READ_VERBS, name) ? READ_VERBS[name] : undefined;
  if (readVerbs !== undefined)
    return (call) =>
      name.startsWith('apt') && call.args.includes('-s') ? reads : judgeVerb(call.args, readVerbs);
  const pattern = Object.hasOwn(PATTERNED, name) ? PATTERNED[name] : undefined;
  if (pattern !== undefined) return (call) => (pattern(call.args) ? changes : reads);
  return null;
}

export function systemProgramNames(): string[] {
  return [...ALWAYS, ...Object.keys(READ_VERBS), ...Object.keys(PATTERNED)];
}

function runScheduled(call: Parameters<Handler>[0]): void {
  if (call.stdin !== undefined) call.inspector.runScript(call.stdin, forkScope(call.scope), call.cause);
}

function judgeVerb(args: readonly string[], readVerbs: RegExp): Hit {
  const verb = args.find((arg) => !arg.startsWith('-'));
  if (verb === undefined)
    return args.some((arg) => /^-(-version|v|-help|h|-prefix)$/.test(arg)) || readVerbs.test('')
      ? reads
      : changes;
  if (args.some((arg) => /^(--simulate|--dry-run|--just-print|--download-only)$/.test(arg))) return reads;
  const rest = args.slice(args.indexOf(verb) + 1);
  if (verb === 'services' && !/^(list|info)?$/.test(rest[0] ?? '')) return changes;
  if (rest.some((arg) => /^(down|delete|disconnect|modify|off)$/.test(arg))) return changes;
  return readVerbs.test(verb) ? reads : changes;
}
