import type { ThreadRooms } from './thread-rooms.ts';

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
