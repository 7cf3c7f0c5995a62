/** The phases of a daemon's end (DM3, DM5). */
import type { Clock } from '@caisson/ground';
import type { DaemonPhase } from '@caisson/protocol';
import type { DaemonLife, DaemonWork } from './contract.ts';

export interface LifeOptions {
  readonly clock: Pick<Clock, 'setTimer' | 'wallMs'>;
  readonly work: DaemonWork;
  onPhase(phase: DaemonPhase): void;
}

export function createLife({ clock, work, onPhase }: LifeOptions): DaemonLife {
  let phase: DaemonPhase = 'serving';
  let drainsUntilMs: number | null = null;
  let isForced = false;
  /** Running agents go on without this daemon; the last order before the end counts. */
  let leaves = false;
  let isEnding = false;
  /** Ends the wait for runs. */
  const enough = new AbortController();
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined); // callers that wait for it get it
  const enter = (next: DaemonPhase): void => onPhase((phase = next));

  const end = async (drainMs: number): Promise<void> => {
    if (drainMs > 0) {
      drainsUntilMs = clock.wallMs() + drainMs;
      enter('draining');
      await drain(work, enough.signal, clock, drainMs);
      drainsUntilMs = null;
    }
    enter(leaves ? 'leaving' : 'stopping');
    await (leaves ? work.leave() : work.shutdown({ force: isForced }));
    await work.close();
  };
  const begin = (drainMs: number): void => {
    if (isEnding) return;
    isEnding = true;
    end(drainMs).then(ended.resolve, ended.reject);
  };
  return {
    phase: () => phase,
    drainsUntilMs: () => drainsUntilMs,
    stop(order) {
      const drainMs = 'drainMs' in order ? order.drainMs : 0;
      if (phase === 'serving' || phase === 'draining') leaves = 'leave' in order;
      begin(drainMs);
      if (drainMs === 0) enough.abort();
    },
    force() {
      isForced = true;
      leaves = false;
      begin(0);
      enough.abort();
      void work.shutdown({ force: true });
    },
    ended: ended.promise,
  };
}

/** Waits until nothing is under way, the time is over, or a quicker order came. */
async function drain(
  work: DaemonWork,
  enough: AbortSignal,
  clock: LifeOptions['clock'],
  limitMs: number,
): Promise<void> {
  const over = Promise.withResolvers<void>();
  let isOver = false;
  const finish = (): void => {
    isOver = true;
    over.resolve();
  };
  const cancel = clock.setTimer(limitMs, finish);
  enough.addEventListener('abort', finish, { once: true });
  // A run may have started another one meanwhile.
  for (let left = work.underWay(); left.length > 0 && !isOver; left = work.underWay())
    await Promise.race([Promise.all(left), over.promise]);
  cancel();
  enough.removeEventListener('abort', finish);
}
