import { CheckpointRef, definedOnly, type DataOf, type Ending } from '@caisson/protocol';
import type { DispatchRooms } from '../admission/index.ts';
import type { AttemptRemains } from './attempt-remains.ts';
import type { KeptCaptures } from './keep-captures.ts';
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

/** The work of an earlier attempt, where this one began without it, left none itself and did not do its task. */
export function findHiddenWork(
  rooms: Pick<DispatchRooms, 'ledger'>,
  { runId, workspace }: Pick<AttemptRemains, 'runId' | 'workspace'>,
  { kind }: Ending,
  { patchRef, patchMissing }: Pick<KeptCaptures, 'patchRef' | 'patchMissing'>,
): Pick<LeftWork['data'], 'patchRef' | 'patchMissing' | 'checkpoint'> {
  const isOver = kind === 'failed' || kind === 'cancelled';
  const hasOwn = (patchRef ?? patchMissing ?? workspace.startTree) !== undefined;
  if (!isOver || hasOwn) return {};
  const { total: _ofAll, ...left } = findLeftWork(rooms, runId).data;
  return (left.patchRef ?? left.patchMissing) === undefined ? {} : { checkpoint: undefined, ...left };
}
