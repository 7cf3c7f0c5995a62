/** The last resort for an attempt that cannot be settled in order: the run ends, and says where its work may be. */
import type { RunRecord, StoredEvent } from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import { orWarn } from './clean-up.ts';
import type { DispatchRooms } from './rooms.ts';

/** Nothing is removed: the workspace stays where it is. */
export async function endUnsettled(
  rooms: DispatchRooms,
  record: RunRecord,
  launched: StoredEvent,
  detail: string,
): Promise<void> {
  const { attempt } = launched;
  const runId = launched.runId ?? '';
  const workspace = PreparedWorkspace.safeParse(launched.data['workspace']).data;
  const checkpoint =
    workspace === undefined
      ? undefined
      : await orWarn(record, attempt, 'workspace', () => rooms.workspaces.findCheckpoint(workspace));
  const why = detail.slice(0, 8000);
  await record.flush();
  await record.append(
    'dispatch.failed',
    {
      durationMs: Math.max(0, rooms.clock.wallMs() - Date.parse(launched.at)),
      failure: { reason: 'lost', detail: why },
      patchMissing: why,
      ...(checkpoint == null ? {} : { checkpoint }),
    },
    { attempt },
  );
  rooms.budget.settle(runId, undefined);
  await orWarn(record, attempt, 'evidence', () => rooms.seal(runId));
}
