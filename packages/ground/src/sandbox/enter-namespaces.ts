// The one Perl program of a launch. While the sandbox's program waits at the start gate, it limits inotify in the user
// namespace (inotify-limit.ts) and mounts the layers in the mount namespace (layer-mounts.ts). Each is a process of its own:
// none can leave a user namespace again. It is started in advance, or beside bubblewrap.
import { findInotifyShare, LIMIT_INOTIFY } from './inotify-limit.ts';
import { MOUNT_LAYERS, type LayerMounts } from './layer-mounts.ts';
import { startPerl, SYSCALLS } from './perl-helper.ts';

const NOT_LIMITED = 1;
const NOT_MOUNTED = 2;

const PROGRAM = `
my ($setns, $mount, $umount, $instances, $watches) = @ARGV;
$/ = undef;
my ($pid, @words) = split /\\0/, <STDIN> // '';
defined $pid && defined(my $limiter = fork) or exit ${NOT_LIMITED | NOT_MOUNTED};
END {
  if ($limiter) {
    my $missing = $? == 0 ? 0 : ${NOT_MOUNTED};
    waitpid $limiter, 0;
    $? = $missing + ($? == 0 ? 0 : ${NOT_LIMITED});
  }
}
if (!$limiter) {${LIMIT_INOTIFY}
}
exit 0 if !@words;${MOUNT_LAYERS}`;

/** What was done in the namespaces of a sandbox. */
export interface Entered {
  readonly limitsInotify: boolean;
  readonly isMounted: boolean;
}

export interface NamespaceEntry {
  /** Does the work in the namespaces of the sandbox with this first process. */
  enter(initPid: number, mounts: LayerMounts | null): Promise<Entered>;
  /** For a launch that failed. Idempotent. */
  cancel(): void;
}

/** Without Perl. */
const NONE: NamespaceEntry = {
  enter: (_initPid, mounts) => Promise.resolve({ limitsInotify: false, isMounted: mounts === null }),
  cancel: () => undefined,
};

let ready: NamespaceEntry | null = null;

/** Starts one in advance, for the next launch of this process. */
export function prepareNamespaceEntry(): void {
  ready ??= start();
}

/** One that waits for its sandbox. */
export function takeNamespaceEntry(): NamespaceEntry {
  const entry = ready ?? start();
  ready = null;
  return entry;
}

function start(): NamespaceEntry {
  const calls = SYSCALLS[process.arch];
  if (calls === undefined) return NONE;
  const { instances, watches } = findInotifyShare();
  const helper = startPerl(PROGRAM, [calls.setns, calls.mount, calls.umount2, instances, watches]);
  if (helper === null) return NONE;
  return {
    async enter(initPid, mounts) {
      const missing =
        (await helper.run([initPid, ...(mounts?.words ?? [])].join('\0'))) ?? NOT_LIMITED | NOT_MOUNTED;
      return { limitsInotify: (missing & NOT_LIMITED) === 0, isMounted: (missing & NOT_MOUNTED) === 0 };
    },
    cancel: helper.cancel,
  };
}
