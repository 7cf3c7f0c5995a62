import type { DataOf } from '@caisson/protocol';
import type { DispatchRooms } from '../admission/index.ts';
import { sumAttempts } from './sum-attempts.ts';

/** What a run that ends between two attempts has to show: the work of the last one that left any, and what all used. */
export interface LeftWork {
  readonly attempt: number;
  readonly data: Pick<DataOf<'attempt.ended'>, 'patchRef' | 'patchMissing' | 'checkpoint'> &
    Pick<DataOf<'dispatch.failed'>, 'total'>;
}

export function findLeftWork({ ledger }: Pick<DispatchRooms, 'ledger'>, runId: string): LeftWork {
  const ended = ledger.read({ runId, types: ['attempt.ended'] });
  const last = ended.findLast(
    ({ data }) => (data.patchRef ?? data.patchMissing ?? data.checkpoint) !== undefined,
  );
  const { patchRef, patchMissing, checkpoint } = last?.data ?? {};
  const total = sumAttempts({ ledger }, runId);
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
