/** The system calls that change a disk, and how often the host's main thread makes each. */
import { choose, chooseNumber } from './choose.ts';
import type { Random } from './contract.ts';
import type { Injection } from './strace.ts';

export type CommandName = 'run' | 'recovery';

interface Call {
  /** As strace names it, with its variants. */
  readonly names: string;
  /** About how many there are in each command; more are never made by a small one. */
  readonly run: number;
  readonly recovery: number;
}

/** Counted with strace; those that matter most are here twice. */
const CALLS: [Call, ...Call[]] = [
  { names: 'pwrite64', run: 150, recovery: 60 },
  { names: 'pwrite64', run: 150, recovery: 60 },
  { names: 'fsync,fdatasync', run: 24, recovery: 7 },
  { names: 'fsync,fdatasync', run: 24, recovery: 7 },
  { names: 'write', run: 40, recovery: 40 },
  { names: 'openat', run: 270, recovery: 340 },
  { names: 'mkdir,mkdirat', run: 40, recovery: 7 },
  { names: 'rename,renameat,renameat2', run: 6, recovery: 2 },
  { names: 'unlink,unlinkat', run: 8, recovery: 7 },
  { names: 'rmdir', run: 3, recovery: 3 },
  { names: 'link,linkat', run: 2, recovery: 1 },
  { names: 'ftruncate', run: 2, recovery: 2 },
];

/** Other threads and processes make fewer calls each than the host's main thread. */
const SHARE_OF_OTHERS = 0.25;

/** A call and which one of it; the loader's own opens, at the start, are left alone. */
export function chooseCall(
  random: Random,
  command: CommandName,
  scope: Injection['scope'],
): { calls: string; nth: number } {
  const call = choose(random, CALLS);
  const most = Math.ceil(call[command] * (scope === 'host' ? 1 : SHARE_OF_OTHERS));
  return {
    calls: call.names,
    nth: chooseNumber(random, Math.min(most, call.names === 'openat' ? 30 : 1), most),
  };
}
