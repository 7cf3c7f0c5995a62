// How many inotify instances and watches one sandbox may have.
//
// The kernel counts them per user of the machine, and the default of 128 instances is used up quickly: then no editor
// and no other sandbox of that user gets one. A user namespace has its own limits, which count below those of the
// machine. Only a process that is in the namespace and has its capabilities may set them, and one that is executed
// there has none: so a Perl program enters by itself (perl-helper.ts), as the owner of the namespace, and writes them.
// Without Perl there is no limit, and the record of the run says so.
import { readFileSync } from 'node:fs';

export const CLONE_NEWUSER = 0x10000000;

/** One sandbox gets this part of what the machine gives one user. */
const SHARE = 4;
const FEWEST = { instances: 16, watches: 2048 } as const;

/** Perl; has $setns, $instances, $watches and the $pid in the namespace. Ends its process. */
export const LIMIT_INOTIFY = `
open my $ns, '<', "/proc/$pid/ns/user" or exit 2;
syscall($setns, fileno($ns), ${CLONE_NEWUSER}) == 0 or exit 3;
for (['instances', $instances], ['watches', $watches]) {
  open my $file, '>', "/proc/sys/user/max_inotify_$_->[0]" or exit 4;
  print $file $_->[1];
  close $file or exit 5;
}
exit 0;`;

/** What one sandbox may have. */
export function findInotifyShare(): Record<keyof typeof FEWEST, number> {
  const share = (name: keyof typeof FEWEST): number =>
    Math.max(FEWEST[name], Math.floor(readMax(`max_user_${name}`) / SHARE));
  return { instances: share('instances'), watches: share('watches') };
}

function readMax(name: string): number {
  return Number(readFileSync(`/proc/sys/fs/inotify/${name}`, 'utf8'));
}
