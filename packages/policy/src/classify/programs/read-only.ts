/** Programs that only read, whatever their words are. Handlers come first: `find` is not here. */
const READ_ONLY = new Set(
  'ls ll la dir vdir cat bat batcat head tail less more grep egrep fgrep rg ag ack wc sort uniq cut tr paste join comm diff cmp colordiff delta jq yq gron file stat tree exa eza lsd du df pwd whoami id groups hostname uname uptime date cal echo printf true false : test [ [[ which whereis type hash command-not-found man info apropos help basename dirname realpath readlink seq sleep printenv env-print ps top htop free vmstat iostat lsof pgrep pidof lscpu lsblk lsusb lspci lsmod dmesg nproc arch getconf locale tty stty-size column fold fmt nl tac rev od hexdump xxd strings md5sum sha1sum sha256sum sha512sum shasum md5 cksum sum b2sum base64 base32 expr bc dc factor look locate mdfind zcat zgrep xzcat bzcat zless cloc tokei scc loc nm objdump readelf ldd size otool who w last lastlog finger getent jobs wait times umask ulimit shift return exit break continue local export declare readonly typeset let unset getopts printf dirs pushd popd fc bind compgen complete shopt tput clear reset figlet cowsay lolcat yes pr expand unexpand tsort numfmt iconv uconv fdfind fzf ldapsearch sw_vers system_profiler vm_stat ss netstat arp pstree hexyl difft dust duf procs btm glances neofetch fastfetch nvidia-smi sensors vainfo xdpyinfo logname users strings pkg-config tldr cheat'.split(
    ' ',
  ),
);

export function isReadOnlyProgram(name: string): boolean {
  return READ_ONLY.has(name);
}

/** Options by which a reading program empties what it reads. */
const CLEARS: Record<string, RegExp> = {
  dmesg: /^(-C|-c|--clear|--read-clear)$/,
  lastlog: /^(-C|--clear|-S|--set)$/,
  hostname: /^[^-]|^-(F|b)$/,
  tail: /^\/dev\/(zero|u?random)$/,
  sort: /^\/dev\/(zero|u?random)$/,
  tac: /^\/dev\/(zero|u?random)$/,
  arp: /^(-d|-s|--delete|--set)$/,
};

export function clearsSomething(name: string, args: readonly string[]): boolean {
  const clears = Object.hasOwn(CLEARS, name) ? CLEARS[name] : undefined;
  return clears !== undefined && args.some((arg) => clears.test(arg));
}
