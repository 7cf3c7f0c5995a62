import type { ThreadRooms } from './thread-rooms.ts';

/** Why steps are aborted whose runs are to be cancelled. */
export const CANCELLED = Symbol('cancelled');

/** Those of the runs that have not ended. */
export async function cancelRuns(
  { ledger, cancelRun, warn }: ThreadRooms,
  runIds: readonly string[],
): Promise<void> {
  for (const runId of runIds) {
    const run = ledger.run(runId);
    if (run === null || run.ending !== undefined) continue;
    await cancelRun(runId).catch((error: unknown) =>
      warn(`${runId} was not cancelled: ${(error as Error).message}`),
    );
  }
}
