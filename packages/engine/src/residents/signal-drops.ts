/** Records signals that had no effect. The first of a kind is recorded at once, those that follow within a minute as one. */
import type { Clock } from '@caisson/ground';
import type { DataOf } from '@caisson/protocol';
import { NO_ATTEMPT, type RunRecord } from '../ledger/index.ts';

export type Drop = Omit<DataOf<'signal.dropped'>, 'count'>;

const QUIET_MS = 60_000;

export interface SignalDrops {
  add(drop: Drop): void;
  /** Records what is only counted. */
  stop(): void;
}

export function createSignalDrops(clock: Pick<Clock, 'setTimer'>, record: RunRecord): SignalDrops {
  const counted = new Map<string, { count: number; drop: Drop; cancel: () => void }>();
  const write = (drop: Drop, count: number): void =>
    record.keep('signal.dropped', { ...drop, count }, NO_ATTEMPT);
  const watch = (key: string, drop: Drop): void => {
    const cancel = clock.setTimer(QUIET_MS, () => {
      const entry = counted.get(key);
      counted.delete(key);
      if (entry === undefined || entry.count === 0) return;
      write(entry.drop, entry.count);
      watch(key, entry.drop);
    });
    counted.set(key, { count: 0, drop, cancel });
  };
  return {
    add(drop) {
      const key = JSON.stringify([drop.sense, drop.endedRun, drop.name, drop.why, drop.listener]);
      const entry = counted.get(key);
      if (entry === undefined) {
        write(drop, 1);
        return watch(key, drop);
      }
      entry.count += 1;
      entry.drop = drop;
    },
    stop() {
      for (const { count, drop, cancel } of counted.values()) {
        cancel();
        if (count > 0) write(drop, count);
      }
      counted.clear();
    },
  };
}
