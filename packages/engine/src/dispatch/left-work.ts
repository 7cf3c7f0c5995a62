import type { EventData } from '@caisson/protocol';
import type { DispatchRooms } from './rooms.ts';
import { sumAttempts } from './sum-attempts.ts';

/** What a run that ends between two attempts has to show: the work of the last one that left any, and what all used. */
export interface LeftWork {
  readonly attempt: number;
  readonly data: Pick<EventData['attempt.ended'], 'patchRef' | 'patchMissing' | 'checkpoint'> &
    Pick<EventData['dispatch.failed'], 'total'>;
}

const KEYS = ['patchRef', 'patchMissing', 'checkpoint'];

export function findLeftWork({ ledger }: Pick<DispatchRooms, 'ledger'>, runId: string): LeftWork {
  const ended = ledger.read({ runId, types: ['attempt.ended'] });
  const last = ended.findLast(({ data }) => KEYS.some((key) => data[key] !== undefined));
  const total = sumAttempts({ ledger }, runId);
  const { patchRef, patchMissing, checkpoint } = (last?.data ?? {}) as LeftWork['data'];
  return {
    attempt: ended.at(-1)?.attempt ?? 0,
    data: {
      ...(patchRef === undefined ? {} : { patchRef }),
      ...(patchMissing === undefined ? {} : { patchMissing }),
      ...(checkpoint === undefined ? {} : { checkpoint }),
      ...(total === undefined ? {} : { total }),
    },
  };
}
