import type { DurableType, EventContent } from '@caisson/protocol';
import { LedgerFullError, type RunRecord } from '../ledger/index.ts';
import type { DispatchRooms } from '../admission/index.ts';

type Rooms = Pick<DispatchRooms, 'freeReserve'>;

/**
 * Records what must be recorded although the disk is full: in the space that this host set aside. `work` must be
 * repeatable. Only the ledger gets that space, and only when the agent is gone, or it would be filled, too.
 */
export async function withReserve<T>(
  { freeReserve }: Rooms,
  work: () => Promise<T>,
  maxParts = Infinity,
): Promise<T> {
  for (let parts = 0; ; parts += 1)
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LedgerFullError) || parts >= maxParts || !freeReserve()) throw error;
    }
}

/** Records the end of an attempt or of its run, together with all events that are still kept for it. */
export function recordInReserve(
  rooms: Rooms,
  record: Pick<RunRecord, 'appendLast'>,
  attempt: number,
  events: readonly EventContent<DurableType>[],
): Promise<void> {
  return withReserve(rooms, async () => void (await record.appendLast(events, attempt)));
}
