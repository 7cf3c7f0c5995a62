/**
 * What dead hosts left, settled by the next process that opens the ledger, or waits for a slot.
 *   a valid result file → its ending · a live worker → stopped, then `lost` · nothing → `lost`
 *   an ending without its seal and clean-up → both are done now
 * R1  Only what belongs to a host that is known to be dead is touched, and by one recoverer at a time: it holds
 *     `recover:HOST` and listens like any host, so that a recoverer that died is known to be dead too.
 * R2  A late recoverer learns it from the ledger: there is only one terminal event.
 * R3  The workspace is checkpointed before anything is removed.
 * R4  A run that cannot be settled in order still ends, `lost`, with the reason and where its work is; it never blocks
 *     the other runs.
 * R5  A failure that may pass ends no run. If the ledger can record nothing, recovery stops; for anything else the run
 *     is left to the next command, for PATIENT_MS after its launch. Its host keeps its slots until then.
 */
import type { Hosts } from '../hosts/index.ts';
import { IllegalTransitionError, isOutage, type RunRow } from '../ledger/index.ts';
import { RunUnsettledError, type DispatchRooms } from '../admission/index.ts';
import type { HostBackoff } from './host-backoff.ts';
import { isPassing } from '../attempt/index.ts';
import { recoverRun, finishEnded } from './recover-run.ts';

const PATIENT_MS = 24 * 3_600_000;

export interface Recovery {
  readonly rooms: DispatchRooms;
  readonly hosts: Hosts;
  /** Starts to listen, before the first thing is touched (R1). */
  announce(): Promise<void>;
  /** A host may be dead because of a power cut: its refs under `refs/caisson` may be broken. */
  repairRefs(): Promise<unknown>;
  /** For callers that check again and again: hosts that are not due are skipped. */
  readonly backoff?: HostBackoff;
}

export interface Recovered {
  readonly settled: readonly string[];
  /** Runs that are left to the next command (R5). */
  readonly left: readonly RunUnsettledError[];
  /** Dead hosts whose runs another process settles at this moment (R1). */
  readonly skipped: readonly string[];
}

export async function recover(recovery: Recovery): Promise<Recovered> {
  const { rooms, hosts, announce, repairRefs, backoff } = recovery;
  const { ledger, hostId } = rooms;
  const open = ledger.runs({ status: ['queued', 'running'] });
  const known = new Set([...open.map((row) => row.host), ...ledger.leases.hosts()]);
  known.delete(hostId);
  const dead: string[] = [];
  for (const host of known)
    if ((backoff?.isDue(host) ?? true) && !(await hosts.isAlive(host))) dead.push(host);
  const all = { settled: [] as string[], left: [] as RunUnsettledError[], skipped: [] as string[] };
  if (dead.length === 0) return all;
  await announce();
  let isRepaired = false;
  for (const host of dead) {
    if (!holdHost(rooms, host, dead)) {
      all.skipped.push(host);
      continue;
    }
    if (!isRepaired) await repairRefs();
    isRepaired = true;
    let isSettled = false;
    try {
      const { settled, left } = await recoverHost(withReserveOf(recovery, host), host);
      all.settled.push(...settled);
      all.left.push(...left);
      isSettled = left.length === 0;
      if (isSettled) {
        ledger.leases.reclaim(host);
        hosts.forget(host);
      }
    } finally {
      backoff?.note(host, isSettled);
      freeHost(rooms, host);
    }
  }
  return all;
}

/** What the dead host had set aside is for the endings of its runs. */
function withReserveOf({ rooms, hosts }: Recovery, host: string): DispatchRooms {
  return { ...rooms, freeReserve: () => rooms.freeReserve() || hosts.freeReserve(host) };
}

/** A failed recovery lets others try. If the ledger accepts nothing, the hold ends with this host. */
function freeHost({ ledger, hostId }: DispatchRooms, host: string): void {
  try {
    ledger.leases.free(`recover:${host}`, hostId);
  } catch (error) {
    if (!isOutage(error)) throw error;
  }
}

/** R1. The hold of a dead recoverer is replaced. */
function holdHost({ ledger, hostId }: DispatchRooms, host: string, dead: readonly string[]): boolean {
  const name = `recover:${host}`;
  if (ledger.leases.tryHold(name, hostId, hostId)) return true;
  const holder = ledger.leases.holderOf(name)?.holder;
  if (holder === undefined || !dead.includes(holder)) return false;
  ledger.leases.free(name, holder);
  return ledger.leases.tryHold(name, hostId, hostId);
}

async function recoverHost(rooms: DispatchRooms, host: string): Promise<Omit<Recovered, 'skipped'>> {
  const settled: string[] = [];
  const left: RunUnsettledError[] = [];
  for (const row of rooms.ledger.runs({ status: ['queued', 'running'] })) {
    if (row.host !== host) continue;
    const outcome = await settleLeft(rooms, row);
    if (outcome === 'settled') settled.push(row.runId);
    else if (outcome !== 'ended') left.push(outcome);
  }
  // A slot is released last: an ended run that still has one was not cleaned up.
  const slots = rooms.ledger.leases.listSlots().filter((slot) => slot.hostId === host);
  for (const { runId } of slots) if (!settled.includes(runId)) await finishEnded(rooms, runId);
  return { settled, left };
}

async function settleLeft(
  rooms: DispatchRooms,
  row: RunRow,
): Promise<'settled' | 'ended' | RunUnsettledError> {
  const launchedAt = rooms.ledger.attempts(row.runId).at(-1)?.launchedAt ?? row.acceptedAt;
  const isYoung = rooms.clock.wallMs() - Date.parse(launchedAt) < PATIENT_MS;
  const mayPass = isYoung ? isPassing : isOutage;
  try {
    await recoverRun(rooms, { row, why: 'the host died' }, mayPass);
    return 'settled';
  } catch (error) {
    // R2, or every failure came after the ending; the slot shows what is still to do.
    const isOver = rooms.ledger.run(row.runId)?.ending !== undefined;
    if (isOver || error instanceof IllegalTransitionError) return 'ended';
    if (isOutage(error)) throw error;
    return new RunUnsettledError(row.runId, error); // R4, R5
  }
}
