/** After the ending is durable: the attempt's files are removed. */
import { explainError } from '@caisson/ground';
import type { RemoveResult } from '../workspace/index.ts';
import type { AttemptRemains } from './attempt-remains.ts';
import type { DispatchRooms } from '../admission/index.ts';
import type { RunRecord } from '../ledger/index.ts';
import { recordRemoved } from './flow-events.ts';
import { removeStored } from './remove-stored.ts';
import { removeAttemptFolders } from './state-paths.ts';

/** Never rejects: what cannot be removed is reported, and stays for `caisson gc` or a person. */
export async function cleanUp(
  rooms: DispatchRooms,
  record: RunRecord,
  remains: AttemptRemains,
): Promise<void> {
  if (await removeRemains(rooms, record, remains)) recordRemoved(record, remains);
}

/** The same, for a caller that records it. Resolves with whether the workspace is gone. */
export async function removeRemains(
  rooms: DispatchRooms,
  record: RunRecord,
  remains: AttemptRemains,
): Promise<boolean> {
  const { paths, workspace, isProvenGone = false } = remains;
  const isRemoved = await orWarn(record, remains.attempt, 'workspace', async () => {
    const why = refusalOf(await rooms.workspaces.remove(workspace, { isProvenGone }));
    if (why !== null) throw new Error(`${workspace.attemptDir} was left in place: ${why}`);
    return true;
  });
  await orWarn(record, remains.attempt, 'state', async () => {
    // Before the ending a reader may still follow its output, and another attempt may follow this one.
    if (rooms.ledger.run(remains.runId)?.ending !== undefined) await removeStored(rooms, paths);
    await removeAttemptFolders(paths);
  });
  return isRemoved === true;
}

function refusalOf(removed: RemoveResult): string | null {
  if (removed.kind !== 'refused') return null;
  return removed.reason === 'live-processes'
    ? `processes still work in it (pid ${removed.pids.join(', ')})`
    : 'it contains work that no checkpoint has';
}

/** A failure beside the ending must not prevent it: it becomes a warning of the run. */
export async function orWarn<T>(
  record: RunRecord,
  attempt: number,
  source: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const message = explainError(error).slice(0, 4000);
    record.keep('warning', { source, message }, { attempt });
    return undefined;
  }
}
