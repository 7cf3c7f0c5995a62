/**
 * What dead hosts left behind, settled by whoever opens the ledger next, or waits for a slot.
 *   a valid result file → its ending · a live worker → stopped, then `lost` · nothing → `lost`
 *   an ending that was not followed by its seal and clean-up → both are made up for
 * R1  Only what belongs to a host that is known to be dead is touched, and by one recoverer at a time: it holds
 *     `recover:HOST` and listens like any host, so that a recoverer that died is known to be dead too.
 * R2  Whoever comes late learns it from the ledger: it takes one terminal event.
 * R3  The workspace is checkpointed before anything is removed.
 * R4  A run that cannot be settled in order still ends, `lost`, with the reason; it never blocks the other runs.
 */
import type { Hosts } from '../hosts/index.ts';
import { IllegalTransitionError, type RunRow } from '../ledger/index.ts';
import type { DispatchRooms } from './rooms.ts';
import { recoverRun, finishEnded } from './recover-run.ts';
import { createRunRecord } from './run-record.ts';

export interface Recovery {
  readonly rooms: DispatchRooms;
  readonly hosts: Hosts;
  /** Starts to listen, before the first thing is touched (R1). */
  announce(): Promise<void>;
  /** A host may be dead because the power was cut: what it had under `refs/caisson` may be broken. */
  repairRefs(): Promise<unknown>;
}

/** Returns the ids of the runs that were settled. */
export async function recover({ rooms, hosts, announce, repairRefs }: Recovery): Promise<readonly string[]> {
  const { ledger, hostId } = rooms;
  const open = ledger.runs({ status: ['queued', 'running'] });
  const known = new Set([...open.map((row) => row.host), ...ledger.leases.hosts()]);
  known.delete(hostId);
  const dead: string[] = [];
  for (const host of known) if (!(await hosts.isAlive(host))) dead.push(host);
  if (dead.length === 0) return [];
  await announce();
  await repairRefs();
  const recovered: string[] = [];
  for (const host of dead) {
    if (!holdHost(rooms, host, dead)) continue;
    recovered.push(...(await recoverHost(rooms, host)));
    ledger.leases.reclaim(host);
    ledger.leases.free(`recover:${host}`, hostId);
    hosts.forget(host);
  }
  return recovered;
}

/** R1. A hold that a dead recoverer left is taken over. */
function holdHost({ ledger, hostId }: DispatchRooms, host: string, dead: readonly string[]): boolean {
  const name = `recover:${host}`;
  if (ledger.leases.tryHold(name, hostId, hostId)) return true;
  const holder = ledger.leases.holderOf(name)?.holder;
  if (holder === undefined || !dead.includes(holder)) return false;
  ledger.leases.free(name, holder);
  return ledger.leases.tryHold(name, hostId, hostId);
}

async function recoverHost(rooms: DispatchRooms, host: string): Promise<string[]> {
  const recovered: string[] = [];
  for (const row of rooms.ledger.runs({ status: ['queued', 'running'] })) {
    if (row.host === host && (await settleLeft(rooms, row))) recovered.push(row.runId);
  }
  // A slot is given back last of all: an ended run that still has one was not cleaned up.
  const slots = rooms.ledger.leases.listSlots().filter((slot) => slot.hostId === host);
  for (const { runId } of slots) if (!recovered.includes(runId)) await finishEnded(rooms, runId);
  return recovered;
}

async function settleLeft(rooms: DispatchRooms, row: RunRow): Promise<boolean> {
  try {
    await recoverRun(rooms, row);
    return true;
  } catch (error) {
    if (error instanceof IllegalTransitionError) return false; // R2
    if (rooms.ledger.run(row.runId)?.ending !== undefined) return true;
    await giveUp(rooms, row, error as Error); // R4
    return true;
  }
}

async function giveUp(rooms: DispatchRooms, row: RunRow, error: Error): Promise<void> {
  const [first] = rooms.ledger.read({ runId: row.runId });
  const durationMs = Math.max(0, rooms.clock.wallMs() - Date.parse(row.acceptedAt));
  const detail = `the host died, and what it left could not be settled: ${error.message}`.slice(0, 8000);
  await createRunRecord(rooms, row.runId, first?.trace ?? '').append(
    'dispatch.failed',
    { durationMs, failure: { reason: 'lost', detail } },
    { attempt: row.attempt },
  );
}
