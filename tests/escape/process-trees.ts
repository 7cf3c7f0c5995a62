// Ways in which a program tries to outlive its killer. Each tree writes one line for every process that has come up,
// so that a test knows that what it kills was really there.

/** Perl source; `say` announces the process. */
const PRELUDE =
  '$| = 1; sub say_up { syswrite(STDOUT, "up\\n") } sub stay { $SIG{$_} = "IGNORE" for qw(TERM HUP INT); say_up(); sleep 1000 while 1 }';

export interface ProcessTree {
  readonly name: string;
  readonly program: string;
  /** How many processes announce themselves. */
  readonly size: number;
}

export const PROCESS_TREES: readonly ProcessTree[] = [
  { name: 'ignores every polite signal', size: 1, program: `${PRELUDE}; stay()` },
  {
    name: 'forks twice',
    size: 2,
    program: `${PRELUDE}; if (!fork) { if (!fork) { stay() } exit } wait; stay()`,
  },
  {
    name: 'leaves its session',
    size: 2,
    program: `use POSIX; ${PRELUDE}; if (!fork) { POSIX::setsid(); stay() } stay()`,
  },
  {
    name: 'daemonises: forks twice in a new session, and the parent exits',
    size: 1,
    program: `use POSIX; ${PRELUDE}; if (!fork) { POSIX::setsid(); if (!fork) { chdir "/"; stay() } exit } wait; sleep 1000`,
  },
  {
    name: 'uses nohup and setsid',
    size: 1,
    program: `${PRELUDE}; system(q{nohup setsid perl -e '$| = 1; syswrite(STDOUT, "up\\n"); sleep 1000' 2>/dev/null &}); sleep 1000`,
  },
  {
    name: 'clears its environment',
    size: 2,
    program: `use POSIX; ${PRELUDE}; if (!fork) { %ENV = (); POSIX::setsid(); exec "/usr/bin/perl", "-e", '$| = 1; syswrite(STDOUT, "up\\n"); sleep 1000' } stay()`,
  },
  {
    name: 'is a chain of ten',
    size: 10,
    program: `${PRELUDE}; for (1..9) { last if fork; POSIX->can("setsid") } stay()`,
  },
  { name: 'stops itself', size: 1, program: `${PRELUDE}; say_up(); kill "STOP", $$; sleep 1000` },
];
