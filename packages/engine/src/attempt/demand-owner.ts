import type { DispatchRooms } from '../admission/index.ts';
import { RunTakenOverError } from '../ledger/index.ts';

/** Throws RunTakenOverError when another host drives the run by now: nothing of it is ours to settle any more. */
export function demandOwner(
  { ledger, hostId }: Pick<DispatchRooms, 'ledger' | 'hostId'>,
  runId: string,
): void {
  const row = ledger.isThere() ? ledger.run(runId) : null;
  if (row !== null && row.host !== hostId) throw new RunTakenOverError(runId, row.host);
}
