import { CheckpointRef, definedOnly, type DataOf } from '@caisson/protocol';
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
  // An attempt that changed nothing may have a checkpoint, too.
  const last =
    ended.findLast(({ data }) => (data.patchRef ?? data.patchMissing) !== undefined) ??
    ended.findLast(({ data }) => data.checkpoint !== undefined);
  const { patchRef, patchMissing, checkpoint: saved } = last?.data ?? {};
  // An earlier version recorded more of a checkpoint than is declared.
  const checkpoint = saved === undefined ? undefined : CheckpointRef.parse(saved);
  const total = sumAttempts({ ledger }, runId);
  return {
    attempt: ended.at(-1)?.attempt ?? 0,
    data: definedOnly({ patchRef, patchMissing, checkpoint, total }),
  };
}
