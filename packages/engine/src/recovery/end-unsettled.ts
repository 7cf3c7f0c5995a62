/** The last resort for a run that cannot be settled in order: the run ends, and names where its work may be. */
import { definedOnly, type DataOf } from '@caisson/protocol';
import type { RunRecord, StoredEvent } from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import {
  attemptPaths,
  countLeftLines,
  countLeftUsage,
  orWarn,
  recordInReserve,
  requestedModel,
  sumAttempts,
} from '../attempt/index.ts';
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
  const durationMs = Math.max(0, rooms.clock.wallMs() - Date.parse(last.at));
  const used =
    last.type === 'attempt.launched'
      ? await orWarn(record, attempt, 'compute', () => countUsed(rooms, runId, attempt, durationMs))
      : undefined;
  const why = detail.slice(0, 8000);
  const data = {
    durationMs,
    failure: { reason: 'lost' as const, detail: why },
    patchMissing: why,
    ...used,
    ...(checkpoint == null ? {} : { checkpoint }),
  };
  await recordInReserve(rooms, record, attempt, [{ type: 'dispatch.failed', data }]);
  rooms.budget.settle(runId, used?.usage);
  await orWarn(record, attempt, 'evidence', () => rooms.seal(runId));
}

/** The lines of its worker, and what its host recorded, need nothing of what cannot be settled. */
async function countUsed(
  rooms: DispatchRooms,
  runId: string,
  attempt: number,
  durationMs: number,
): Promise<Pick<DataOf<'dispatch.failed'>, 'usage' | 'costUsd' | 'total'>> {
  const model = requestedModel(rooms, runId);
  const left = await countLeftLines(attemptPaths(rooms.settings.stateDir, runId, attempt).events, model);
  const usage = countLeftUsage(rooms, runId, left, undefined);
  const costUsd = usage === undefined ? undefined : rooms.budget.cost(usage, model);
  const ended = { usage, costUsd, durationMs };
  return definedOnly({ usage, costUsd, total: sumAttempts(rooms, runId, ended) });
}
