// How many inotify instances and watches one sandbox may have.
//
// The kernel counts them per user of the machine, and the default of 128 instances is used up quickly: then no editor
// and no other sandbox of that user gets one. A user namespace has its own limits, which count below those of the
// machine. Only a process that is in the namespace and has its capabilities may set them, and one that is executed
// there has none: so a Perl program enters by itself, as the owner of the namespace, and writes them. It starts beside
// bubblewrap and gets the pid while the program waits for its start signal. Without Perl there is no limit, and the
// record of the run says so.
import { readFileSync } from 'node:fs';
import { CLONE_NEWUSER, startPerl, SYSCALLS } from './perl-helper.ts';

/** One sandbox gets this part of what the machine gives one user. */
const SHARE = 4;
const FEWEST = { instances: 16, watches: 2048 } as const;

const PROGRAM = `
my ($setns, $instances, $watches) = @ARGV;
defined(my $pid = <STDIN>) or exit 1;
chomp $pid;
open my $ns, '<', "/proc/$pid/ns/user" or exit 2;
syscall($setns, fileno($ns), ${CLONE_NEWUSER}) == 0 or exit 3;
for (['instances', $instances], ['watches', $watches]) {
  open my $file, '>', "/proc/sys/user/max_inotify_$_->[0]" or exit 4;
  print $file $_->[1];
  close $file or exit 5;
}`;

export interface InotifyLimiter {
  /** Limits the user namespace of this process; `false` if that was not possible. */
  limit(pid: number): Promise<boolean>;
  /** For a launch that failed. Idempotent. */
  cancel(): void;
}

const NONE: InotifyLimiter = { limit: () => Promise.resolve(false), cancel: () => undefined };

let ready: InotifyLimiter | null = null;

/** Starts one in advance, for the next launch of this process. */
export function prepareInotifyLimiter(): void {
  ready ??= start();
}

/** The helper that sets the limits; it waits for its process. */
export function takeInotifyLimiter(): InotifyLimiter {
  const limiter = ready ?? start();
  ready = null;
  return limiter;
}

function start(): InotifyLimiter {
  const share = (name: keyof typeof FEWEST): number =>
    Math.max(FEWEST[name], Math.floor(readMax(`max_user_${name}`) / SHARE));
  const setns = SYSCALLS[process.arch]?.setns;
  const helper =
    setns === undefined ? null : startPerl(PROGRAM, [setns, share('instances'), share('watches')]);
  return helper === null ? NONE : { limit: (pid) => helper.run(`${pid}\n`), cancel: helper.cancel };
}

function readMax(name: string): number {
  return Number(readFileSync(`/proc/sys/fs/inotify/${name}`, 'utf8'));
}
