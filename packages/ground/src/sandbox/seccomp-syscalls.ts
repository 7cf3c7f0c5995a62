// Numbers of the system calls that the filter names. The kernel never renumbers them.

/** Calls whose arguments decide. */
export interface InspectedCalls {
  readonly clone: number;
  readonly clone3: number;
  readonly unshare: number;
  readonly ioctl: number;
  readonly personality: number;
  readonly socket: number;
}

export interface SeccompArchitecture {
  /** The kernel's AUDIT_ARCH value. */
  readonly auditArchitecture: number;
  /** Whether a second set of call numbers hides behind a bit. */
  readonly hasX32: boolean;
  readonly special: InspectedCalls;
  readonly denied: Readonly<Record<string, number>>;
}

/** Calls since Linux 5.0 have one number everywhere. */
const DENIED_EVERYWHERE = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  process_madvise: 440,
  mount_setattr: 442,
  quotactl_fd: 443,
  open_tree_attr: 467,
};

export const SECCOMP_ARCHITECTURES: Readonly<Record<string, SeccompArchitecture>> = {
  x64: {
    auditArchitecture: 0xc000003e,
    hasX32: true,
    special: { clone: 56, clone3: 435, unshare: 272, ioctl: 16, personality: 135, socket: 41 },
    denied: {
      ptrace: 101,
      syslog: 103,
      uselib: 134,
      vhangup: 153,
      modify_ldt: 154,
      pivot_root: 155,
      adjtimex: 159,
      chroot: 161,
      acct: 163,
      settimeofday: 164,
      mount: 165,
      umount2: 166,
      swapon: 167,
      swapoff: 168,
      reboot: 169,
      sethostname: 170,
      setdomainname: 171,
      iopl: 172,
      ioperm: 173,
      create_module: 174,
      init_module: 175,
      delete_module: 176,
      quotactl: 179,
      nfsservctl: 180,
      lookup_dcookie: 212,
      clock_settime: 227,
      kexec_load: 246,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      migrate_pages: 256,
      move_pages: 279,
      perf_event_open: 298,
      fanotify_init: 300,
      fanotify_mark: 301,
      open_by_handle_at: 304,
      clock_adjtime: 305,
      setns: 308,
      process_vm_readv: 310,
      process_vm_writev: 311,
      kcmp: 312,
      finit_module: 313,
      kexec_file_load: 320,
      bpf: 321,
      userfaultfd: 323,
      ...DENIED_EVERYWHERE,
    },
  },
  arm64: {
    auditArchitecture: 0xc00000b7,
    hasX32: false,
    special: { clone: 220, clone3: 435, unshare: 97, ioctl: 29, personality: 92, socket: 198 },
    denied: {
      lookup_dcookie: 18,
      umount2: 39,
      mount: 40,
      pivot_root: 41,
      nfsservctl: 42,
      chroot: 51,
      vhangup: 58,
      quotactl: 60,
      acct: 89,
      kexec_load: 104,
      init_module: 105,
      delete_module: 106,
      clock_settime: 112,
      syslog: 116,
      ptrace: 117,
      reboot: 142,
      sethostname: 161,
      setdomainname: 162,
      settimeofday: 170,
      adjtimex: 171,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      swapon: 224,
      swapoff: 225,
      migrate_pages: 238,
      move_pages: 239,
      perf_event_open: 241,
      fanotify_init: 262,
      fanotify_mark: 263,
      open_by_handle_at: 265,
      clock_adjtime: 266,
      setns: 268,
      process_vm_readv: 270,
      process_vm_writev: 271,
      kcmp: 272,
      finit_module: 273,
      bpf: 280,
      userfaultfd: 282,
      kexec_file_load: 294,
      ...DENIED_EVERYWHERE,
    },
  },
};
