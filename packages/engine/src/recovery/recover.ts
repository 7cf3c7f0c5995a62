/**
 * What dead hosts left, settled by the next process that opens the ledger, or waits for a slot.
 *   a valid result file → its ending · a live worker → stopped, then `lost` · nothing → `lost`
 *   a worker that waits for its next host → adopted by a daemon; every other process leaves it alone (R6)
 *   an ending without its seal and clean-up → both are done now
 * R1  Only what belongs to a host that is known to be dead is touched, and by one recoverer at a time: it holds
 *     `recover:HOST` and listens like any host, so that a recoverer that died is known to be dead too.
 * R2  A late recoverer learns it from the ledger: there is only one terminal event.
 * R3  The workspace is checkpointed before anything is removed.
 * R4  A run that cannot be settled in order still ends, `lost`, with the reason and where its work is; it never blocks
 *     the other runs.
 * R5  A failure that may pass ends no run. If the ledger can record nothing, recovery stops; for anything else the run
 *     is left to the next command, for PATIENT_MS after its launch. Its host keeps its slots until then.
 * R6  Only a daemon adopts, and no process but a person's cancel ends a worker that can be adopted. A worker ends itself
 *     when nobody comes in time; then the run is settled as any other.
 * R7  Adopting comes before settling: only a worker's wait has a deadline.
 */
import { definedOnly } from '@caisson/protocol';
import type { Hosts } from '../hosts/index.ts';
import { IllegalTransitionError, isOutage, type RunRow } from '../ledger/index.ts';
import { RunUnsettledError, type AdoptableRun, type DispatchRooms } from '../admission/index.ts';
import type { HostBackoff } from './host-backoff.ts';
import { isPassing } from '../attempt/index.ts';
import { findAdoptable, type FoundWorker } from './find-adoptable.ts';
import { recoverRun, finishEnded, type LeftRun } from './recover-run.ts';

const PATIENT_MS = 24 * 3_600_000;

export interface Recovery {
  readonly rooms: DispatchRooms;
  readonly hosts: Hosts;
  /** Starts to listen, before the first thing is touched (R1). */
  announce(): Promise<void>;
  /** A host may be dead because of a power cut: its refs under `refs/caisson` may be broken. */
  repairRefs(): Promise<unknown>;
  /** Drives the run from now on; false when it is left to the next daemon. Null in every process but a daemon. */
  readonly adopt: ((run: AdoptableRun) => Promise<boolean>) | null;
  /** Whether this host does that. */
  drives(runId: string): boolean;
  /** A run that a person cancels: it is ended, and not left to a daemon. */
  readonly cancelled?: string;
  /** For callers that check again and again: hosts that are not due are skipped. */
  readonly backoff?: HostBackoff;
}

export interface Recovered {
  readonly settled: readonly string[];
  /** Runs that are left to the next command (R5). */
  readonly left: readonly RunUnsettledError[];
  /** Runs that this host drives from now on. */
  readonly adopted: readonly string[];
  /** Runs whose workers wait for a daemon (R6). */
  readonly adoptable: readonly string[];
  /** Dead hosts whose runs another process settles at this moment (R1). */
  readonly skipped: readonly string[];
}

export async function recover(recovery: Recovery): Promise<Recovered> {
  const { rooms, announce, repairRefs } = recovery;
  const all = createTally();
  await recoverClaimed(recovery, all);
  const dead = await listDead(recovery);
  if (dead.length === 0) return all;
  await announce();
  const held: HeldHost[] = [];
  try {
    for (const host of dead)
      if (await holdHost(rooms, host, dead)) held.push({ host, tally: createTally(), isTried: false });
      else all.skipped.push(host);
    if (held.length > 0) await repairRefs();
    for (const each of held) await adoptRuns(recovery, each.host, startOn(each)); // R7
    for (const each of held) await recoverHost(recovery, each);
  } finally {
    for (const each of held) await releaseHost(recovery, each);
  }
  for (const { tally } of held)
    for (const key of ['settled', 'adopted', 'adoptable'] as const) all[key].push(...tally[key]);
  all.left.push(...held.flatMap(({ tally }) => tally.left));
  return all;
}

async function listDead({ rooms, hosts, backoff }: Recovery): Promise<string[]> {
  const { ledger, hostId } = rooms;
  const open = ledger.runs({ status: ['queued', 'running'] });
  const known = new Set([...open.map((row) => row.host), ...ledger.leases.hosts()]);
  known.delete(hostId);
  const dead: string[] = [];
  for (const host of known)
    if ((backoff?.isDue(host) ?? true) && !(await hosts.isAlive(host))) dead.push(host);
  return dead;
}

/** A dead host that nobody else recovers meanwhile (R1). */
interface HeldHost {
  readonly host: string;
  readonly tally: Tally;
  isTried: boolean;
}

function startOn(held: HeldHost): Tally {
  held.isTried = true;
  return held.tally;
}

function isSettled({ left, adoptable }: Tally): boolean {
  return left.length + adoptable.length === 0;
}

/** What the dead host had set aside is for the endings of its runs. */
function withReserveOf({ rooms, hosts }: Recovery, host: string): DispatchRooms {
  return { ...rooms, freeReserve: () => rooms.freeReserve() || hosts.freeReserve(host) };
}

/** A failed recovery lets others try. If the ledger accepts nothing, the hold ends with this host. */
async function releaseHost(
  { rooms: { ledger, hostId }, adopt, backoff }: Recovery,
  { host, tally, isTried }: HeldHost,
): Promise<void> {
  // A worker waits only for so long: who can adopt it tries again with the next check.
  const isUrgent = adopt !== null && tally.adoptable.length > 0;
  if (isTried && !isUrgent) backoff?.note(host, isSettled(tally));
  try {
    await ledger.whenFree(() => ledger.leases.free(`recover:${host}`, hostId));
  } catch (error) {
    if (!isOutage(error)) throw error;
  }
}

/** R1. The hold of a dead recoverer is replaced. */
function holdHost(
  { ledger, hostId }: DispatchRooms,
  host: string,
  dead: readonly string[],
): Promise<boolean> {
  const { leases, whenFree } = ledger;
  const name = `recover:${host}`;
  return whenFree(() => {
    if (leases.tryHold(name, hostId, hostId)) return true;
    const holder = leases.holderOf(name)?.holder;
    if (holder === undefined || !dead.includes(holder)) return false;
    leases.free(name, holder);
    return leases.tryHold(name, hostId, hostId);
  });
}

interface Tally {
  readonly settled: string[];
  readonly adopted: string[];
  readonly adoptable: string[];
  readonly left: RunUnsettledError[];
  readonly skipped: string[];
}

const createTally = (): Tally => ({ settled: [], adopted: [], adoptable: [], left: [], skipped: [] });

/**
 * Runs that this host owns and does not drive: what made it their owner failed half-way, or its answer was lost. Nobody else
 * looks after them while it lives.
 */
async function recoverClaimed(recovery: Recovery, tally: Tally): Promise<void> {
  const { rooms, adopt } = recovery;
  const { leases, whenFree } = rooms.ledger;
  if (adopt === null) return;
  await adoptRuns(recovery, rooms.hostId, tally);
  const settled = await settleRuns(recovery, rooms.hostId, tally);
  for (const runId of settled) await whenFree(() => leases.release(runId));
}

/** R7 */
async function adoptRuns(recovery: Recovery, host: string, tally: Tally): Promise<void> {
  const { rooms, adopt, cancelled } = recovery;
  if (adopt === null) return;
  for (const row of listRuns(recovery, host)) {
    const { runId } = row;
    const found = runId === cancelled ? null : await findWorker(rooms, row);
    if (found?.kind !== 'adoptable') continue;
    tally.adoptable.push(runId); // still, if the adoption fails
    if (await adopt(found.run).catch(isTaken)) tally.adopted.push(runId);
    tally.adoptable.pop();
  }
}

async function recoverHost(recovery: Recovery, { host, tally }: HeldHost): Promise<void> {
  const rooms = withReserveOf(recovery, host);
  const { leases } = rooms.ledger;
  const settled = await settleRuns({ ...recovery, rooms }, host, tally);
  // A slot is released last: an ended run that still has one was not cleaned up.
  const slots = leases.listSlots().filter((slot) => slot.hostId === host);
  for (const { runId } of slots) if (!settled.includes(runId)) await finishEnded(rooms, runId);
  if (!isSettled(tally)) return;
  await rooms.ledger.whenFree(() => leases.reclaim(host));
  recovery.hosts.forget(host);
}

/** Settles what nobody adopts, and returns it. */
async function settleRuns(recovery: Recovery, host: string, tally: Tally): Promise<readonly string[]> {
  const { rooms, adopt, cancelled } = recovery;
  for (const row of listRuns(recovery, host)) {
    const isCancelled = row.runId === cancelled;
    const found = isCancelled ? null : await findWorker(rooms, row);
    if (found !== null && (adopt === null || found.kind === 'adoptable')) {
      tally.adoptable.push(row.runId);
      continue;
    }
    const why = found?.kind === 'foreign' ? `the host died, and ${found.why}` : 'the host died';
    const epoch = host === rooms.hostId ? row.epoch : undefined;
    const outcome = await settleLeft(rooms, { row, why, isCancelled, ...definedOnly({ epoch }) });
    if (outcome === 'settled') tally.settled.push(row.runId);
    else if (outcome !== 'ended') tally.left.push(outcome);
  }
  return tally.settled;
}

/** Of this host only those that it claimed from another one: what it accepts itself is not driven for a moment. */
function listRuns({ rooms: { ledger, hostId }, drives }: Recovery, host: string): RunRow[] {
  const open = ledger.runs({ status: ['queued', 'running'] }).filter((row) => row.host === host);
  return host === hostId ? open.filter((row) => row.epoch !== undefined && !drives(row.runId)) : open;
}

/** A run that cannot be read is no reason to leave the others: settling it reports what is wrong. */
function findWorker(rooms: DispatchRooms, row: RunRow): Promise<FoundWorker> {
  return findAdoptable(rooms, row).catch(() => null);
}

/** The run ended, or another daemon has it, since we looked (R2). */
function isTaken(error: unknown): false {
  if (error instanceof IllegalTransitionError) return false;
  throw error;
}

async function settleLeft(
  rooms: DispatchRooms,
  left: LeftRun,
): Promise<'settled' | 'ended' | RunUnsettledError> {
  const { row } = left;
  const launchedAt = rooms.ledger.attempts(row.runId).at(-1)?.launchedAt ?? row.acceptedAt;
  const isYoung = rooms.clock.wallMs() - Date.parse(launchedAt) < PATIENT_MS;
  const mayPass = isYoung ? isPassing : isOutage;
  try {
    await recoverRun(rooms, left, mayPass);
    return 'settled';
  } catch (error) {
    // R2, or every failure came after the ending; the slot shows what is still to do.
    const isOver = rooms.ledger.run(row.runId)?.ending !== undefined;
    if (isOver || error instanceof IllegalTransitionError) return 'ended';
    if (isOutage(error)) throw error;
    return new RunUnsettledError(row.runId, error); // R4, R5
  }
}
