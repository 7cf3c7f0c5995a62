// What a process waits for: the facts behind a stall reason.
import { readProcess, readProcFile, readProcLink } from './process-tree.ts';

/** What standard input is connected to. */
export type StdinKind = 'pipe' | 'tty' | 'null' | 'file' | 'socket' | 'closed';

/** What an idle process does. */
export interface ProcessWait {
  /** Name of the blocking system call, its number when we have no name, `running` on a CPU, `null` when unreadable. */
  readonly syscall: string | null;
  readonly wchan: string | null;
  readonly fd0: StdinKind;
  /** It sleeps in a read of its standard input, and that input could still deliver something. */
  readonly blockedOnStdin: boolean;
}

/** Reads once what the process waits for. A process that is gone waits for nothing. */
export function describeWait(pid: number): ProcessWait {
  const call = readSyscall(pid);
  const fd0 = describeStdin(pid);
  const wchan = readProcFile(`/proc/${pid}/wchan`);
  return {
    syscall: call?.name ?? null,
    wchan: wchan === null || wchan === '0' || wchan === '' ? null : wchan,
    fd0,
    blockedOnStdin:
      call !== null && call.readsFd === 0 && isInteractive(fd0) && readProcess(pid)?.state === 'S',
  };
}

/** Whether one of them reads the standard input that it shares with the first, or the first its own. */
export function readsStdin(first: number, others: readonly number[]): boolean {
  if (describeWait(first).blockedOnStdin) return true;
  const stdin = readProcLink(`/proc/${first}/fd/0`);
  if (stdin === null) return false;
  return others.some(
    (pid) => readProcLink(`/proc/${pid}/fd/0`) === stdin && describeWait(pid).blockedOnStdin,
  );
}

function isInteractive(kind: StdinKind): boolean {
  return kind === 'pipe' || kind === 'tty' || kind === 'socket';
}

function describeStdin(pid: number): StdinKind {
  const target = readProcLink(`/proc/${pid}/fd/0`);
  if (target === null) return 'closed';
  if (target === '/dev/null') return 'null';
  if (target.startsWith('pipe:')) return 'pipe';
  if (target.startsWith('socket:')) return 'socket';
  return /^\/dev\/(tty|pts\/|console)/.test(target) ? 'tty' : 'file';
}

interface BlockingCall {
  readonly name: string;
  /** The descriptor it reads from, for calls that read one. */
  readonly readsFd: number | null;
}

function readSyscall(pid: number): BlockingCall | null {
  const text = readProcFile(`/proc/${pid}/syscall`);
  if (text === null) return null;
  if (text.startsWith('running')) return { name: 'running', readsFd: null };
  const [number = '', firstArgument = ''] = text.trim().split(' ');
  const name = SYSCALL_NAMES[process.arch]?.[number] ?? number;
  return { name, readsFd: READS.has(name) ? Number(firstArgument) : null };
}

const READS = new Set(['read', 'readv', 'pread64', 'recvfrom', 'recvmsg', 'accept', 'accept4']);

/** The calls in which programs of this field usually sleep. */
const SYSCALL_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  x64: {
    '0': 'read',
    '1': 'write',
    '7': 'poll',
    '19': 'readv',
    '20': 'writev',
    '23': 'select',
    '34': 'pause',
    '35': 'nanosleep',
    '42': 'connect',
    '43': 'accept',
    '45': 'recvfrom',
    '47': 'recvmsg',
    '61': 'wait4',
    '72': 'fcntl',
    '73': 'flock',
    '74': 'fsync',
    '202': 'futex',
    '230': 'clock_nanosleep',
    '232': 'epoll_wait',
    '247': 'waitid',
    '270': 'pselect6',
    '271': 'ppoll',
    '281': 'epoll_pwait',
    '288': 'accept4',
    '128': 'rt_sigtimedwait',
    '130': 'rt_sigsuspend',
  },
  arm64: {
    '63': 'read',
    '64': 'write',
    '65': 'readv',
    '66': 'writev',
    '72': 'pselect6',
    '73': 'ppoll',
    '22': 'epoll_pwait',
    '25': 'fcntl',
    '32': 'flock',
    '82': 'fsync',
    '95': 'waitid',
    '98': 'futex',
    '101': 'nanosleep',
    '115': 'clock_nanosleep',
    '133': 'rt_sigsuspend',
    '137': 'rt_sigtimedwait',
    '202': 'accept',
    '203': 'connect',
    '207': 'recvfrom',
    '212': 'recvmsg',
    '242': 'accept4',
    '260': 'wait4',
  },
};
