/** One run of a dead host, from what is on disk to its ending. */
import { rm } from 'node:fs/promises';
import { definedOnly, formatDuration, isEnding, knownTypeOf, type Ending } from '@caisson/protocol';
import {
  IllegalTransitionError,
  type RunRecord,
  type RunRow,
  type StoredEvent,
  type StoredOf,
} from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import { attemptKey, WorkerHandle } from '../compute/index.ts';
import {
  type AttemptRemains,
  orWarn,
  isForBranch,
  recordNothingLeft,
  recordProcessesEnded,
  countLeftUsage,
  endingOfResult,
  withAnswers,
  findLeftWork,
  pushBranch,
  type MayPass,
  readResult,
  recordInReserve,
  type FoundResult,
  finishSettled,
  settle,
  settleBranch,
  attemptPaths,
  removeAttemptFolders,
  WAIT_SOURCE,
  keepLeftLines,
  requestedModel,
  type LeftCounts,
} from '../attempt/index.ts';
import type { DispatchRooms } from '../admission/index.ts';
import { endUnsettled } from './end-unsettled.ts';

type Launched = StoredOf<'attempt.launched'>;

/** A run without a host, and why. */
export interface LeftRun {
  readonly row: RunRow;
  /** The beginning of a failure that follows from it. */
  readonly why: string;
  /** Of the host that owns it; absent where its host is dead and this process holds `recover:HOST`. */
  readonly epoch?: number;
  /** A person cancels it. */
  readonly isCancelled?: boolean;
}

/**
 * Settles a run without a host. Throws what `mayPass`, and has recorded no ending then; after any other failure, the
 * run ends and names where its work is (R4).
 */
export async function recoverRun(rooms: DispatchRooms, left: LeftRun, mayPass: MayPass): Promise<void> {
  const { runId } = left.row;
  const events = await rooms.ledger.readRun(runId);
  const record = rooms.recorder.of(runId, events[0]?.trace ?? '', left.epoch);
  const { projectRoot, stateDir } = rooms.settings;
  await orWarn(record, 0, 'workspace', () => rooms.workspaces.removeLocks({ projectRoot, stateDir, runId }));
  let launched: Launched | undefined;
  try {
    launched = lastLaunched(events);
    if (launched === undefined || has('attempt.ended', events, launched.attempt))
      await endUnlaunched(rooms, record, { ...left, mayPass }, events);
    else await recoverAttempt(rooms, record, { ...left, launched, mayPass }, events);
  } catch (error) {
    const isOver = rooms.ledger.run(runId)?.ending !== undefined;
    const last = launched ?? events[0];
    if (last === undefined || isOver || mayPass(error) || error instanceof IllegalTransitionError)
      throw error;
    const why = `${left.why}, and what it left could not be settled: ${(error as Error).message}`;
    await endUnsettled(rooms, record, last, why);
  }
}

async function endUnlaunched(
  rooms: DispatchRooms,
  record: RunRecord,
  { row, why, mayPass }: LeftRun & { mayPass: MayPass },
  events: readonly StoredEvent[],
): Promise<void> {
  const { runId, attempt } = row;
  await sweepUnlaunched(rooms, record, runId, events);
  const durationMs = Math.max(0, rooms.clock.wallMs() - Date.parse(row.acceptedAt));
  const detail =
    row.status === 'queued' && lastLaunched(events) === undefined
      ? `${why} before the run had a worker`
      : `${why} between two attempts`;
  const failure = { reason: 'lost', detail } as const;
  const { data } = findLeftWork(rooms, runId);
  const { branch } = await settleBranch(rooms, runId, data, mayPass);
  const ending = { durationMs, failure, ...data, ...definedOnly({ branch }) };
  await recordInReserve(rooms, record, attempt, [{ type: 'dispatch.failed', data: ending }]);
  rooms.budget.settle(runId, undefined);
  await orWarn(record, attempt, 'evidence', () => rooms.seal(runId));
  await orWarn(record, attempt, 'push', () => pushBranch(rooms, record, runId));
  recordNothingLeft(record, row, branch);
}

/** Does what a host did not do after the ending of a run: seal and clean-up. */
export async function finishEnded(rooms: DispatchRooms, runId: string): Promise<void> {
  const events = await rooms.ledger.readRun(runId);
  const launched = lastLaunched(events);
  const ending = rooms.ledger.run(runId)?.ending;
  if (ending === undefined) return;
  const ended = events.findLast((event) => isEnding(event));
  rooms.budget.settle(runId, ended?.data.usage);
  const record = rooms.recorder.of(runId, events[0]?.trace ?? '');
  if (launched === undefined) return sweepUnlaunched(rooms, record, runId, events);
  await orWarn(record, launched.attempt, 'compute', () => rooms.compute.release(handleOf(launched)));
  let remains: AttemptRemains;
  try {
    remains = await remainsOf(rooms, launched, events);
  } catch (error) {
    // A workspace outside this state folder is not ours to save or to remove.
    await orWarn(record, launched.attempt, 'workspace', () => Promise.reject(error as Error));
    return;
  }
  await finishSettled(rooms, record, remains, { isLate: true });
  if (has('attempt.ended', events, launched.attempt)) recordNothingLeft(record, remains, ended?.data.branch);
}

/**
 * The host died while it prepared: no agent has run, and no event names what is there. What earlier attempts left in
 * place may be work, and is not touched.
 */
async function sweepUnlaunched(
  rooms: DispatchRooms,
  record: RunRecord,
  runId: string,
  events: readonly StoredEvent[],
): Promise<void> {
  const attempt = nextAttempt(events);
  const { stateDir } = rooms.settings;
  await orWarn(record, 0, 'compute', () => rooms.compute.sweep(attemptKey(runId, attempt)));
  await orWarn(record, 0, 'state', () => removeAttemptFolders(attemptPaths(stateDir, runId, attempt)));
  await orWarn(record, 0, 'workspace', async () => {
    for (const left of await rooms.workspaces.recoverList({ stateDir })) {
      if (left.runId !== runId || left.attempt !== attempt) continue;
      if (left.prepared === null) await rm(left.attemptDir, { recursive: true, force: true });
      else await rooms.workspaces.remove(left.prepared, { force: true });
    }
    const url = events.find((event) => event.type === 'dispatch.accepted')?.data.repository?.remote;
    if (url !== undefined) await rooms.workspaces.unpinBase(stateDir, url, { runId, attempt });
  });
}

async function recoverAttempt(
  rooms: DispatchRooms,
  record: RunRecord,
  { launched, why, isCancelled = false, mayPass }: LeftRun & { launched: Launched; mayPass: MayPass },
  events: readonly StoredEvent[],
): Promise<void> {
  const { attempt } = launched;
  const place = { runId: launched.runId ?? '', attempt, isForBranch: isForBranch(events) };
  recordProcessesEnded(record, place, await rooms.compute.stop(handleOf(launched)));
  const remains = await remainsOf(rooms, launched, events);
  const known = { model: requestedModel(rooms, remains.runId), cost: rooms.budget.cost };
  const left = await keepLeftLines(record, remains, remains.paths.events, events, known);
  const { nonce } = launched.data;
  const found = await readResult(remains.paths.result, { runId: remains.runId, attempt, nonce }, mayPass);
  const sinceMs = Math.max(0, rooms.clock.wallMs() - Date.parse(launched.at));
  await settle(
    rooms,
    record,
    {
      remains,
      ending:
        isCancelled && found.kind !== 'valid'
          ? { kind: 'cancelled', cause: 'user' }
          : endingOf(found, left, `${why}${findWait(events, attempt)} ${whenLost(launched, events)}`),
      found,
      durationMs: found.kind === 'valid' ? found.result.durationMs : sinceMs,
      hasLostSecrets: launched.data.hasSecrets === true,
      countUsage: (reported) => countLeftUsage(rooms, remains.runId, left, reported),
      mayPass,
    },
    { attemptsLeft: 0, delayMs: 0 }, // recovery dispatches nothing: decision 0010
  );
}

/** Throws when the attempt's workspace is not one of this state folder, as after a project was moved. */
async function remainsOf(
  rooms: DispatchRooms,
  launched: Launched,
  events: readonly StoredEvent[],
): Promise<AttemptRemains> {
  const { attempt } = launched;
  const runId = launched.runId ?? '';
  const { stateDir } = rooms.settings;
  const workspace = PreparedWorkspace.parse(launched.data.workspace);
  if (!(await rooms.workspaces.isWithinState(workspace, { stateDir })))
    throw new Error(`its workspace ${workspace.attemptDir} does not belong to the state folder ${stateDir}`);
  await rooms.workspaces.restore(workspace);
  return {
    runId,
    attempt,
    paths: attemptPaths(stateDir, runId, attempt),
    workspace,
    isForBranch: isForBranch(events),
    release: () => rooms.compute.release(handleOf(launched)),
  };
}

function handleOf(launched: Launched): WorkerHandle {
  return WorkerHandle.parse(launched.data.handle);
}

/** Throws for a launch that this version cannot read: there is a worker, and maybe work, that it knows nothing of. */
function lastLaunched(events: readonly StoredEvent[]): Launched | undefined {
  const last = events.findLast((event) => knownTypeOf(event) === 'attempt.launched');
  if (last === undefined || last.type === 'attempt.launched') return last;
  throw new Error('its worker was started by another version, whose record this one cannot read');
}

/** The attempt that was being prepared when the last one had ended. */
function nextAttempt(events: readonly StoredEvent[]): number {
  return (events.findLast((event) => event.type === 'attempt.ended')?.attempt ?? 0) + 1;
}

function has(type: StoredEvent['type'], events: readonly StoredEvent[], attempt: number): boolean {
  return events.some((event) => event.type === type && event.attempt === attempt);
}

/** What the dead host had waited for, if it had noted that. */
function findWait(events: readonly StoredEvent[], attempt: number): string {
  const warnings = events.filter((event) => event.type === 'warning');
  const note = warnings.findLast((event) => event.attempt === attempt && event.data.source === WAIT_SOURCE);
  return note === undefined ? '' : ` as it waited to settle the run (${note.data.message})`;
}

function whenLost({ attempt, data: { adoption } }: Launched, events: readonly StoredEvent[]): string {
  if (!has('dispatch.started', events, attempt)) return 'before the agent was started';
  const waited =
    adoption &&
    `; a worker waits at most ${formatDuration(adoption.withinMs)} for a daemon (limits.adoptWithin)`;
  return `while the run was under way${waited ?? ''}`;
}

function endingOf(found: FoundResult, { seen }: LeftCounts, detail: string): Ending {
  if (found.kind === 'valid') return withAnswers(endingOfResult(found.result), seen);
  return { kind: 'failed', failure: { reason: 'lost', detail: detail.slice(0, 8000) } };
}
