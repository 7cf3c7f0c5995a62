import { LedgerFullError } from '../ledger/index.ts';
import type { DispatchRooms } from '../admission/index.ts';

/**
 * Records what must be recorded although the disk is full: in the space that this host set aside. `work` must be
 * repeatable. Only the ledger gets that space, and only when the agent is gone, or it would be filled, too.
 */
export async function withReserve<T>(
  { freeReserve }: Pick<DispatchRooms, 'freeReserve'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LedgerFullError) || !freeReserve()) throw error;
    return await work();
  }
}
