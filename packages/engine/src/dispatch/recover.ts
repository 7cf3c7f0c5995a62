/**
 * What a dead host left behind, settled by whoever opens the ledger next.
 *   a valid result file → its ending · a live worker → stopped, then `lost` · nothing → `lost`
 * R1  Only runs whose host is known to be dead are touched.
 * R2  Two hosts may recover at once: the ledger takes one terminal event, and the second learns that it came late.
 * R3  The workspace is checkpointed before anything is removed.
 */
import type { Hosts } from '../hosts/index.ts';
import { IllegalTransitionError, type RunRow, type StoredEvent } from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import type { WorkerHandle } from '../compute/index.ts';
import type { DispatchRooms } from './contract.ts';
import type { Ending } from './find-ending.ts';
import { readResult, type FoundResult } from './read-result.ts';
import { createRunRecord } from './run-record.ts';
import { settle } from './settle.ts';
import { attemptPaths } from './state-paths.ts';

/** Returns the ids of the runs that were settled. */
export async function recover(rooms: DispatchRooms, hosts: Hosts): Promise<readonly string[]> {
  const open = rooms.ledger
    .runs({ status: ['queued', 'running'] })
    .filter((row) => row.host !== rooms.hostId);
  const dead = new Map<string, boolean>();
  const recovered: string[] = [];
  for (const row of open) {
    if (!dead.has(row.host)) dead.set(row.host, !(await hosts.isAlive(row.host)));
    if (dead.get(row.host) !== true) continue; // R1
    if (!rooms.ledger.leases.tryHold(`recover:${row.runId}`, rooms.hostId, rooms.hostId)) continue;
    try {
      await recoverRun(rooms, row);
      recovered.push(row.runId);
    } catch (error) {
      if (!(error instanceof IllegalTransitionError)) throw error; // R2
    } finally {
      rooms.ledger.leases.free(`recover:${row.runId}`, rooms.hostId);
    }
  }
  for (const [host, isDead] of dead) if (isDead) rooms.ledger.leases.reclaim(host);
  return recovered;
}

async function recoverRun(rooms: DispatchRooms, row: RunRow): Promise<void> {
  const events = rooms.ledger.read({ runId: row.runId });
  const trace = events[0]?.trace ?? '';
  const record = createRunRecord(rooms, row.runId, trace);
  const launched = events.findLast(
    (event) => event.type === 'attempt.launched' && event.attempt === row.attempt,
  );
  if (launched === undefined || isEnded(events, launched.attempt)) {
    const durationMs = Math.max(0, rooms.clock.wallMs() - Date.parse(row.acceptedAt));
    const detail = 'the host died before the attempt had a worker';
    await record.append(
      'dispatch.failed',
      { durationMs, failure: { reason: 'lost', detail } },
      { attempt: row.attempt },
    );
    return;
  }
  await recoverAttempt(rooms, row, launched, record, events);
}

function isEnded(events: readonly StoredEvent[], attempt: number): boolean {
  return events.some((event) => event.type === 'attempt.ended' && event.attempt === attempt);
}

async function recoverAttempt(
  rooms: DispatchRooms,
  row: RunRow,
  launched: StoredEvent,
  record: ReturnType<typeof createRunRecord>,
  events: readonly StoredEvent[],
): Promise<void> {
  const { attempt } = launched;
  await rooms.compute.stop(launched.data['handle'] as unknown as WorkerHandle);
  const paths = attemptPaths(rooms.settings.stateDir, row.runId, attempt);
  const nonce = String(launched.data['nonce']);
  const found = await readResult(paths.result, { runId: row.runId, attempt, nonce });
  await settle(
    rooms,
    record,
    {
      remains: {
        runId: row.runId,
        attempt,
        paths,
        workspace: PreparedWorkspace.parse(launched.data['workspace']),
        release: () => rooms.compute.release(launched.data['handle'] as unknown as WorkerHandle),
      },
      ending: endingOf(found),
      found,
      hasStarted: events.some((event) => event.type === 'dispatch.started' && event.attempt === attempt),
      durationMs:
        found.kind === 'valid'
          ? found.result.durationMs
          : Math.max(0, rooms.clock.wallMs() - Date.parse(launched.at)),
      usage: undefined,
    },
    { attemptsLeft: 0, delayMs: 0 },
  );
}

function endingOf(found: FoundResult): Ending {
  if (found.kind !== 'valid')
    return {
      kind: 'failed',
      failure: { reason: 'lost', detail: 'the host died while the run was under way' },
    };
  const { result } = found;
  switch (result.status) {
    case 'finished':
    case 'needs_input':
      return { kind: result.status };
    case 'cancelled':
      return { kind: 'cancelled', cause: 'user' };
    case 'failed':
      return {
        kind: 'failed',
        failure: result.failure ?? { reason: 'lost', detail: 'failed without a failure' },
      };
  }
}
