/** The phases of a daemon's end (DM3, DM5). */
import type { Clock } from '@caisson/ground';
import type { DaemonPhase } from '@caisson/protocol';
import type { DaemonLife, DaemonWork } from './contract.ts';

export interface LifeOptions {
  readonly clock: Pick<Clock, 'setTimer' | 'wallMs' | 'monotonicMs'>;
  readonly work: DaemonWork;
  onPhase(phase: DaemonPhase): void;
}

export function createLife({ clock, work, onPhase }: LifeOptions): DaemonLife {
  let phase: DaemonPhase = 'serving';
  let isForced = false;
  /** Running agents go on without this daemon; the last order before the end counts. */
  let leaves = false;
  let isEnding = false;
  /** Ends the wait for runs. */
  const enough = new AbortController();
  const limit = createLimit(clock, () => enough.abort());
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined); // callers that wait for it get it
  const enter = (next: DaemonPhase): void => onPhase((phase = next));

  const end = async (drainMs: number): Promise<void> => {
    if (drainMs > 0) {
      enter('draining');
      await drain(work, enough.signal);
      limit.cancel();
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
    drainsUntilMs: () => limit.wallMs(),
    stop(order) {
      const drainMs = 'drainMs' in order ? order.drainMs : 0;
      if (phase === 'serving' || phase === 'draining') leaves = 'leave' in order;
      begin(drainMs);
      if (drainMs === 0) enough.abort();
      else if (phase === 'draining') limit.shortenTo(drainMs);
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

/** Until when it drains. People read the wall clock; the limit itself follows the monotonic one. */
function createLimit(clock: LifeOptions['clock'], onOver: () => void) {
  let untilMs = Infinity;
  let cancel = (): void => undefined;
  return {
    /** A longer time changes nothing. */
    shortenTo(ms: number): void {
      const untilThenMs = clock.monotonicMs() + ms;
      if (untilThenMs >= untilMs) return;
      cancel();
      untilMs = untilThenMs;
      cancel = clock.setTimer(ms, onOver);
    },
    wallMs: () => (untilMs === Infinity ? null : Math.round(clock.wallMs() + untilMs - clock.monotonicMs())),
    cancel(): void {
      cancel();
      untilMs = Infinity;
    },
  };
}

/** Waits until nothing is under way, or it is enough: the time is over, or a quicker order came. */
async function drain(work: DaemonWork, enough: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  enough.addEventListener('abort', () => over.resolve(), { once: true });
  // A run may have started another one meanwhile.
  for (let left = work.underWay(); left.length > 0 && !enough.aborted; left = work.underWay())
    await Promise.race([Promise.all(left), over.promise]);
}
