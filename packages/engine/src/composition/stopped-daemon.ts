/** A daemon that is stopped (SIGSTOP) accepts connections and answers none: who asks it for something is not kept waiting. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readProcess } from '@caisson/ground';
import type { Connection } from '../api/index.ts';
import { DaemonSilentError } from '../daemon/index.ts';

/** An answer that takes longer is looked into, again and again. */
const LOOK_MS = 3000;

/** The same connection; a call to a stopped process throws DaemonSilentError, unless it waits for what happens. */
export function failWhenStopped(connection: Connection, pid: number): Connection {
  return {
    ...connection,
    async request(asked) {
      if (asked.isPatient === true) return connection.request(asked);
      const left = new AbortController();
      const signal = asked.signal === undefined ? left.signal : AbortSignal.any([asked.signal, left.signal]);
      const answered = new AbortController();
      const answer = connection.request({ ...asked, signal }).finally(() => answered.abort());
      const stopped = untilStopped(pid, answered.signal).then((isStopped) => {
        if (!isStopped) return answer;
        left.abort();
        throw describeStopped(pid, asked.method !== 'GET');
      });
      return await Promise.race([answer, stopped]);
    },
  };
}

/** False when it has answered before it was seen stopped. */
async function untilStopped(pid: number, answered: AbortSignal): Promise<boolean> {
  while (!answered.aborted) {
    await sleep(LOOK_MS, undefined, { signal: answered }).catch(() => undefined);
    if (!answered.aborted && /^[Tt]$/.test(readProcess(pid)?.state ?? '')) return true;
  }
  return false;
}

function describeStopped(pid: number, isChange: boolean): DaemonSilentError {
  const later = isChange ? '; once it goes on, it may still do what it was asked for' : '';
  return new DaemonSilentError(`the daemon of this project is stopped (pid ${pid})${later}`, {
    remedy: `Let it go on: kill -CONT ${pid}. Or replace it: caisson up -d --replace; its running agents go on.`,
  });
}
