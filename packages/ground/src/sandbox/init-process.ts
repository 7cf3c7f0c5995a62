/** The processes of one sandbox on the host's side: bubblewrap, and `init`, the first of the new PID namespace. */
import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { childPids, isSameProcess, readProcess, sendSignal } from '../processes/index.ts';

const INIT_GONE_POLL_MS = 1;
/** A process in an uninterruptible wait (a dead network disk) cannot be killed: then we stop waiting. */
const INIT_GONE_LIMIT_MS = 10_000;

/** A clone with all namespaces takes some milliseconds. */
const STOPPED_LIMIT_MS = 100;
const STOPPED_POLL_MS = 0.2;
const NOBODY_WAKES = new Int32Array(new SharedArrayBuffer(4));

export interface NamedProcess {
  readonly pid: number;
  readonly startTime: string;
}

/** bubblewrap reports init's pid as soon as it exists; `null` when it ended before. */
export function readInitPid(status: Duplex): Promise<number | null> {
  return new Promise((resolve) => {
    let text = '';
    status.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const found = /"child-pid":\s*(\d+)/.exec(text);
      if (found !== null) resolve(Number(found[1]));
    });
    status.once('error', () => resolve(null));
    status.once('close', () => resolve(null));
    status.once('end', () => resolve(null));
  });
}

/** At the gate the program is init's only child; later init may have adopted orphans. */
export function findAgent(init: NamedProcess | null): NamedProcess | null {
  return init === null ? null : nameProcess(childPids(init.pid)[0] ?? null);
}

/** Null where there is no such process. */
export function nameProcess(pid: number | null): NamedProcess | null {
  const info = pid === null ? null : readProcess(pid);
  return info === null ? null : { pid: info.pid, startTime: info.startTime };
}

/** Waits until the process is gone. */
export async function gone(init: NamedProcess | null): Promise<void> {
  if (init === null) return;
  const startedAt = performance.now();
  while (isSameProcess(init.pid, init.startTime) && performance.now() - startedAt < INIT_GONE_LIMIT_MS) {
    await delay(INIT_GONE_POLL_MS);
  }
}

/**
 * Before bubblewrap is armed, its first child would outlive it: while it is stopped, it cannot make another one. A
 * clone that is under way when the signal comes is finished first, so the children are listed once it is really
 * stopped.
 */
export function killWithChildren(child: ChildProcess): void {
  if (child.pid === undefined) return;
  child.kill('SIGSTOP');
  const until = performance.now() + STOPPED_LIMIT_MS;
  while (!isStill(child.pid) && performance.now() < until) Atomics.wait(NOBODY_WAKES, 0, 0, STOPPED_POLL_MS);
  for (const pid of childPids(child.pid)) sendSignal(pid, 'SIGKILL');
  child.kill('SIGKILL');
}

/** Stopped, or dead. */
function isStill(pid: number): boolean {
  const state = readProcess(pid)?.state;
  return state === undefined || 'TtZX'.includes(state);
}
