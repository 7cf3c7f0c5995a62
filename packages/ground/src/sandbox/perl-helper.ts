// The launch helper as one Perl program, started in advance where that is possible.
//
//   orders, each ended by two NUL:  launching MARK · launched · took · enter PID WORD…
//   answers, a line each:           pipes FD FD FD FD · entered CODE
//   end of file: we are gone. Processes with the mark of an open launch are killed until a pass over all processes finds
//   none. Without an open launch there is nothing to search for.
//
// Two pipes are always on offer. We open their four ends below /proc, which gives us ends of our own; at `took` the program
// closes its own and offers the next two. Orders are handled one after the other, so at `enter` nobody but us has them.
//
// While the program of a sandbox waits at the start gate, `enter` limits inotify in the user namespace (inotify-limit.ts) and
// mounts the layers in the mount namespace (layer-mounts.ts). Each is a process of its own: none can leave a user namespace
// again.
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { isExecutable } from '../platform/index.ts';
import { MINIMAL_COMMAND_ENV } from '../processes/index.ts';
import { readAnswers, type Answers } from './helper-answers.ts';
import { findInotifyShare, LIMIT_INOTIFY } from './inotify-limit.ts';
import type { LaunchHelper, PipeEnds } from './launch-helper.ts';
import { MOUNT_LAYERS } from './layer-mounts.ts';
import { once, startShellHelper } from './shell-helper.ts';

const NOT_LIMITED = 1;
const NOT_MOUNTED = 2;
const END_OF_ORDER = '\0\0';

/** Numbers of system calls, by architecture. */
const SYSCALLS: Readonly<
  Partial<Record<string, { readonly setns: number; readonly mount: number; readonly umount2: number }>>
> = {
  x64: { setns: 308, mount: 165, umount2: 166 },
  arm64: { setns: 268, mount: 40, umount2: 39 },
  riscv64: { setns: 268, mount: 40, umount2: 39 },
};

const PROGRAM = `
my ($setns, $mount, $umount, $instances, $watches) = @ARGV;
my ($open, @marks, @ends) = 0;
sub offer {
  @ends = ();
  for (1, 2) { pipe my $read, my $write or last; push @ends, $read, $write }
  syswrite STDOUT, join(' ', 'pipes', map { fileno $_ } @ends) . "\\n";
}
sub limit {
  my $pid = shift;${LIMIT_INOTIFY}
}
sub mount {
  my ($pid, @words) = @_;${MOUNT_LAYERS}
}
sub begin {
  my ($part, @given) = @_;
  my $child = fork;
  $part->(@given) if defined $child && !$child;
  return $child;
}
sub has_failed { return !defined $_[0] || waitpid($_[0], 0) < 0 || $? != 0 }
sub enter {
  my ($pid, @words) = @_;
  my $limiter = begin(\\&limit, $pid);
  my $mounter = @words ? begin(\\&mount, $pid, @words) : undef;
  my $missing = has_failed($limiter) ? ${NOT_LIMITED} : 0;
  $missing |= ${NOT_MOUNTED} if @words && has_failed($mounter);
  syswrite STDOUT, "entered $missing\\n";
}
$SIG{PIPE} = 'IGNORE'; # the guard goes on when we are gone
offer();
$/ = "\\0\\0";
while (defined(my $order = <STDIN>)) {
  chomp $order or last;
  my ($word, @given) = split /\\0/, $order;
  if ($word eq 'launching') { $open++; push @marks, @given }
  elsif ($word eq 'launched') { @marks = () if --$open == 0 }
  elsif ($word eq 'took') { offer() }
  elsif ($word eq 'enter') { enter(@given) }
}
undef $/;
for (1 .. 100) {
  last if $open <= 0 || !opendir my $processes, '/proc';
  my @found = grep {
    my $isOpen = /^\\d+$/ && open my $file, '<', "/proc/$_/environ";
    my $text = $isOpen ? <$file> // '' : '';
    grep { index("\\0$text", "\\0$_\\0") >= 0 } @marks;
  } readdir $processes;
  kill 9, @found;
  last if !@found;
  select undef, undef, undef, 0.02;
}`;

/** `null` without a Perl. */
export function startPerlHelper(): LaunchHelper | null {
  const [perl, calls] = [findPerl(), SYSCALLS[process.arch]];
  if (perl === null || calls === undefined) return null;
  const { instances, watches } = findInotifyShare();
  const args = [calls.setns, calls.mount, calls.umount2, instances, watches].map(String);
  const child = spawn(perl, ['-e', PROGRAM, ...args], {
    cwd: '/',
    detached: true, // a signal for our own group must not reach the guard
    env: { ...MINIMAL_COMMAND_ENV },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  return describeHelper(child, readAnswers(child));
}

function describeHelper(child: ChildProcess, answers: Answers): LaunchHelper {
  // A short order fits into the pipe, so it is there when `write` returns.
  const order = (...words: readonly (string | number)[]): void =>
    void child.stdin?.write(words.join('\0') + END_OF_ORDER);
  let instead: LaunchHelper | undefined;
  return {
    launching(mark) {
      order('launching', mark);
      return once(() => order('launched'));
    },
    async makePipes() {
      const offer = await answers.next('pipes');
      const pipes = offer === null ? null : openOffered(child, offer);
      order('took');
      return pipes ?? (instead ??= startShellHelper()).makePipes();
    },
    async enter(initPid, mounts) {
      order('enter', initPid, ...(mounts?.words ?? []));
      const [missing = NOT_LIMITED | NOT_MOUNTED] = (await answers.next('entered')) ?? [];
      return { limitsInotify: (missing & NOT_LIMITED) === 0, isMounted: (missing & NOT_MOUNTED) === 0 };
    },
    standing: () => (!answers.haveEnded() ? 'up' : answers.haveBegun() ? 'killed' : 'useless'),
  };
}

/** `null` where the descriptors of another process cannot be opened, or it has ended. */
function openOffered({ pid, exitCode, signalCode }: ChildProcess, fds: readonly number[]): PipeEnds | null {
  if (exitCode !== null || signalCode !== null) return null;
  const opened: number[] = [];
  const open = (index: number, flags: number): number => {
    const fd = openSync(`/proc/${pid}/fd/${fds[index]}`, flags);
    opened.push(fd);
    return fd;
  };
  try {
    return {
      readFds: [0, 2].map((index) => open(index, constants.O_RDONLY | constants.O_NONBLOCK)),
      writeFds: [1, 3].map((index) => open(index, constants.O_WRONLY)),
    };
  } catch {
    for (const fd of opened) closeSync(fd);
    return null;
  }
}

let perlPath: string | null | undefined;

function findPerl(): string | null {
  perlPath ??= ['/usr/bin/perl', '/bin/perl', '/usr/local/bin/perl'].find(isExecutable) ?? null;
  return perlPath;
}
