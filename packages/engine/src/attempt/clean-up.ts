/** After the ending is durable: the attempt's files are removed. */
import { explainError } from '@caisson/ground';
import type { RemoveResult } from '../workspace/index.ts';
import type { AttemptRemains } from './attempt-remains.ts';
import type { DispatchRooms } from '../admission/index.ts';
import type { RunRecord } from '../ledger/index.ts';
import { removeStored } from './remove-stored.ts';
import { removeAttemptFolders } from './state-paths.ts';

/** Never rejects: what cannot be removed is reported, and stays for `caisson gc` or a person. */
export async function cleanUp(
  rooms: DispatchRooms,
  record: RunRecord,
  remains: AttemptRemains,
): Promise<void> {
  const { paths, workspace, isProvenGone = false } = remains;
  await orWarn(record, remains.attempt, 'workspace', async () => {
    const why = refusalOf(await rooms.workspaces.remove(workspace, { isProvenGone }));
    if (why !== null) throw new Error(`${workspace.attemptDir} was left in place: ${why}`);
  });
  await orWarn(record, remains.attempt, 'state', async () => {
    // Before the ending a reader may still follow its output, and another attempt may follow this one.
    if (rooms.ledger.run(remains.runId)?.ending !== undefined) await removeStored(rooms, paths);
    await removeAttemptFolders(paths);
  });
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

/** A run must not be reported as over when some of its processes are not. */
export function warnOfSurvivors(
  record: Pick<RunRecord, 'keep'>,
  attempt: number,
  pids: readonly number[],
): void {
  if (pids.length === 0) return;
  const message = `processes of this run could not be ended and may still exist: pid ${pids.join(', ')}`;
  record.keep('warning', { source: 'compute', message }, { attempt });
}
