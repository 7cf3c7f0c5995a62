/** A system call that fails: once, a few times, or from then on. */
import { chooseCall, type CommandName } from '../calls.ts';
import { choose } from '../choose.ts';
import type { Fault, Random } from '../contract.ts';
import { injectFault, type Injection } from '../strace.ts';

const SCOPES: Readonly<Record<CommandName, [Injection['scope'], ...Injection['scope'][]]>> = {
  run: ['host', 'host', 'all', 'worker'],
  recovery: ['host', 'host', 'all'],
};

export function createErrnoFault(random: Random, command: CommandName = 'run'): Fault {
  const scope = choose(random, SCOPES[command]);
  const { calls, nth } = chooseCall(random, command, scope);
  const errno = choose(random, ['EIO', 'EIO', 'ENOSPC', 'EROFS', calls === 'openat' ? 'EMFILE' : 'EIO']);
  const when = choose(random, [`${nth}`, `${nth}`, `${nth}..${nth + 3}`, `${nth}+`]);
  const fault = injectFault({ calls, effect: `error=${errno}`, when, scope });
  // A `write` may be the one that wakes an event loop, which no disk can make fail; its waiter would wait for ever.
  return when.endsWith('+') || calls === 'write' ? { ...fault, blocksCommand: true } : fault;
}
