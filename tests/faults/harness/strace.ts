/** Faults of system calls, made by strace: an error, or a signal, at the nth call. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { awaitTargets } from './targets.ts';
import type { Command, Fault, Running, Stage } from './contract.ts';

const STRACE = '/usr/bin/strace';
/** Gives every log of this process a name of its own. */
let logs = 0;

export interface Injection {
  /** System calls, as strace names them, with commas between. */
  readonly calls: string;
  /** `error=EIO` or `signal=KILL`. */
  readonly effect: string;
  /** `3`, `3+` or `3..9`. */
  readonly when: string;
  /** The host's main thread, the host with everything below it, or a worker with everything below it. */
  readonly scope: 'host' | 'all' | 'worker';
}

export function findStraceObstacle(): string | null {
  return existsSync(STRACE) ? null : 'strace is missing: apt-get install strace';
}

export function injectFault(injection: Injection): Fault {
  const { calls, effect, when, scope } = injection;
  let log = '';
  const common: Fault = {
    name: `${effect} at ${calls} ${when} of ${scope}`,
    hasStruck: () => existsSync(log) && /INJECTED|killed by SIGKILL/.test(readFileSync(log, 'utf8')),
  };
  if (scope !== 'worker')
    return {
      ...common,
      wrap(command, stage) {
        log = join(stage.base, `strace.${(logs += 1)}.log`);
        return wrapCommand(injection, command, log);
      },
    };
  return {
    ...common,
    async strike(stage, running) {
      log = join(stage.base, `strace.${(logs += 1)}.log`);
      return attachToWorker(injection, stage, running, log);
    },
  };
}

/** `-D`: the tracer is no parent, so that pid, exit code and streams stay those of the command. */
function wrapCommand({ scope, ...injection }: Injection, command: Command, log: string): Command {
  const follows = scope === 'all' ? ['-f'] : [];
  return { ...command, argv: [STRACE, '-D', ...follows, ...inject(injection, log), ...command.argv] };
}

async function attachToWorker(
  injection: Injection,
  stage: Stage,
  running: readonly Running[],
  log: string,
): Promise<boolean> {
  const [pid] = await awaitTargets('worker', stage, running);
  if (pid === undefined) return false;
  spawn(STRACE, ['-f', '-p', String(pid), ...inject(injection, log)], { stdio: 'ignore' });
  return true;
}

function inject({ calls, effect, when }: Omit<Injection, 'scope'>, log: string): string[] {
  return ['-o', log, '-e', `trace=${calls}`, '-e', `inject=${calls}:${effect}:when=${when}`];
}
