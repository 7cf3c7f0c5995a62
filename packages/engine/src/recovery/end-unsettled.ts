/** The last resort for a run that cannot be settled in order: the run ends, and names where its work may be. */
import type { RunRecord, StoredEvent } from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import { orWarn, recordInReserve } from '../attempt/index.ts';
import type { DispatchRooms } from '../admission/index.ts';

/** Nothing is removed: the workspace stays where it is. `last` is the run's last launch, or its acceptance if it had none. */
export async function endUnsettled(
  rooms: DispatchRooms,
  record: RunRecord,
  last: StoredEvent,
  detail: string,
): Promise<void> {
  const { attempt } = last;
  const runId = last.runId ?? '';
  const launched = last.type === 'attempt.launched' ? last.data.workspace : undefined;
  const workspace = PreparedWorkspace.safeParse(launched).data;
  const checkpoint =
    workspace === undefined
      ? undefined
      : await orWarn(record, attempt, 'workspace', () => rooms.workspaces.findCheckpoint(workspace));
  const why = detail.slice(0, 8000);
  const data = {
    durationMs: Math.max(0, rooms.clock.wallMs() - Date.parse(last.at)),
    failure: { reason: 'lost' as const, detail: why },
    patchMissing: why,
    ...(checkpoint == null ? {} : { checkpoint }),
  };
  await recordInReserve(rooms, record, attempt, [{ type: 'dispatch.failed', data }]);
  rooms.budget.settle(runId, undefined);
  await orWarn(record, attempt, 'evidence', () => rooms.seal(runId));
}
