/** A daemon that is stopped (SIGSTOP) accepts connections and answers none: who asks it for something is not kept waiting. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isStopped } from '@caisson/ground';
import type { Connection } from '../api/index.ts';
import { DaemonSilentError } from '../daemon/index.ts';

/** What takes longer is looked into, again and again: who is seen stopped twice in a row is. */
const LOOK_MS = 1500;

/** The same connection; a call to a stopped process throws DaemonSilentError, unless it waits for what happens. */
export function failWhenStopped(connection: Connection, pid: number, lookMs = LOOK_MS): Connection {
  return {
    ...connection,
    async request(asked) {
      if (asked.isPatient === true) return connection.request(asked);
      const left = new AbortController();
      const signal = asked.signal === undefined ? left.signal : AbortSignal.any([asked.signal, left.signal]);
      const unlessStopped = async <T>(work: Promise<T>): Promise<T> => {
        const over = new AbortController();
        const stopped = untilStopped(pid, lookMs, over.signal).then((isSeen) => {
          if (!isSeen) return work;
          left.abort();
          throw describeStopped(pid, asked.method !== 'GET');
        });
        return await Promise.race([work.finally(() => over.abort()), stopped]);
      };
      const answer = await unlessStopped(connection.request({ ...asked, signal }));
      return { ...answer, body: readEach(answer.body, unlessStopped) };
    },
  };
}

async function* readEach(
  body: AsyncIterable<Buffer>,
  waitFor: <T>(part: Promise<T>) => Promise<T>,
): AsyncGenerator<Buffer, void, void> {
  const parts = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const part = await waitFor(parts.next());
      if (part.done === true) return;
      yield part.value;
    }
  } finally {
    await parts.return?.();
  }
}

/** False when that is over before. */
async function untilStopped(pid: number, lookMs: number, over: AbortSignal): Promise<boolean> {
  let wasStopped = false;
  while (!over.aborted) {
    await sleep(lookMs, undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return false;
    const isNow = isStopped(pid);
    if (isNow && wasStopped) return true;
    wasStopped = isNow;
  }
  return false;
}

function describeStopped(pid: number, isChange: boolean): DaemonSilentError {
  const later = isChange ? '; once it goes on, it may still do what it was asked for' : '';
  return new DaemonSilentError(`the daemon of this project is stopped (pid ${pid})${later}`, {
    remedy: `Let it go on: kill -CONT ${pid}. Or replace it: caisson up -d --replace; its running agents go on.`,
  });
}
