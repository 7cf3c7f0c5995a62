/**
 * Stages 4 and 5 for an attempt of a dead host whose worker goes on: the worker is taken over instead of launched, its
 * lines are read from the first on, and it is followed as if it had been started here.
 *
 * AT1  This host owns the run in the ledger, with the next epoch, before the worker has it as its host.
 * AT2  Nothing is recorded or answered twice: lines have numbers, and requests and messages ids.
 * AT3  The limits of the attempt go on: its time counts from its start, by the worker's own clock.
 * AT4  A failure that would be tried again ends the run: what it needs for another attempt died with its host.
 */
import { ADOPTION_VERSION, type DataOf } from '@caisson/protocol';
import { WorkerHandle, WorkerUnreachableError, type AdoptedWorker } from '../compute/index.ts';
import { expectsHandoff, parseRequest, type AdoptableRun, type DispatchRooms } from '../admission/index.ts';
import type { StoredEvent } from '../ledger/index.ts';
import { pause } from '../platform/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import type { ActiveRun } from './active-run.ts';
import { follow, type FollowedRun } from './follow.ts';
import { holdFolder } from './hold-folder.ts';
import { settleFollowed } from './run-attempt.ts';
import { attemptPaths } from './state-paths.ts';

const AGAIN_MS = 500;

/** Resolves when the run has ended. Throws WorkerUnreachableError when its worker cannot be taken over. */
export async function adoptAttempt(
  rooms: DispatchRooms,
  entry: ActiveRun,
  found: AdoptableRun,
): Promise<void> {
  const { launched, adoption } = found;
  const { runId } = found.row;
  const { attempt, data } = launched;
  const paths = attemptPaths(rooms.settings.stateDir, runId, attempt);
  const workspace = PreparedWorkspace.parse(data.workspace);
  const handle = WorkerHandle.parse(data.handle);
  if (workspace.kind === 'in-place') await holdAdopted(rooms, entry, attempt);
  const accepted = await findAcceptance(rooms, runId);
  const described = describeAdopted(found, accepted);
  rooms.budget.resume({ ...described, caps: described.grant.budget, ...(await findParent(rooms, accepted)) });
  const { nonce } = data;
  const { worker, handover } = await takeOver(rooms, entry, {
    handle,
    nonce,
    socket: paths.control,
    ...adoption,
  });
  const events = await rooms.ledger.readRun(runId);
  if (entry.leave.signal.aborted) worker.stdout.destroy(); // meanwhile: it waits for the next host again
  entry.leave.signal.throwIfAborted();
  entry.isAdopting = false;
  entry.workerStartedMs = rooms.clock.monotonicMs() - handover.elapsedMs; // AT3
  const run: FollowedRun = {
    ...described,
    timeoutMs: adoption.timeoutMs,
    stallTimeoutMs: adoption.stallTimeoutMs,
    reportsUsageOnce: adoption.reportsUsageOnce ?? false,
  };
  const parts = { attempt, attached: undefined, isAdoptable: true };
  const followed = follow(rooms, run, entry.record, parts, worker, { handover, events });
  for (const message of listUnreceived(events)) followed.supervision.send(message);
  await settleFollowed(rooms, entry, {
    prepared: {
      ...{ attempt, nonce, paths, workspace, isForBranch: expectsHandoff(accepted.task) },
      limits: rooms.compute.reopenLimits(handle),
      secrets: handover.secrets,
    },
    followed,
    retry: { attemptsLeft: 0, delayMs: 0 }, // AT4
  });
}

/** A worker that is slow to answer is asked again for as long as it waits for a host. */
async function takeOver(
  { compute, clock }: DispatchRooms,
  { epoch, leave, abort }: ActiveRun,
  {
    handle,
    nonce,
    socket,
    withinMs,
  }: { handle: WorkerHandle; nonce: string; socket: string; withinMs: number },
): Promise<AdoptedWorker> {
  const claim = { kind: 'adopt', version: ADOPTION_VERSION, nonce, epoch, hostPid: process.pid } as const;
  const untilMs = clock.monotonicMs() + withinMs;
  for (;;) {
    leave.signal.throwIfAborted(); // it may have been before we came here
    try {
      return await compute.adopt(handle, socket, claim, leave.signal);
    } catch (error) {
      leave.signal.throwIfAborted();
      const isOver = abort.signal.aborted || clock.monotonicMs() >= untilMs;
      if (isOver || !(await compute.canAdopt(handle, socket))) throw error;
      await pause(clock, AGAIN_MS, leave.signal);
    }
  }
}

/** The worker claimed the folder when its host was gone. If another process was quicker, the agent works there all the same. */
async function holdAdopted(
  rooms: DispatchRooms,
  { run, record, leave }: ActiveRun,
  attempt: number,
): Promise<void> {
  await holdFolder(rooms, run, leave.signal).catch(({ message }: Error) => {
    leave.signal.throwIfAborted();
    record.keep('warning', { source: 'workspace', message }, { attempt });
  });
}

type Acceptance = DataOf<'dispatch.accepted'>;

async function findAcceptance({ ledger }: DispatchRooms, runId: string): Promise<Acceptance> {
  const events = await ledger.readRun(runId);
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  if (accepted === undefined) throw new Error(`the acceptance of ${runId} cannot be read`);
  return accepted.data;
}

function describeAdopted(
  { row: { runId, session, runtime }, launched: { trace } }: AdoptableRun,
  { grant, resolved }: Acceptance,
): Pick<FollowedRun, 'runId' | 'grant' | 'session' | 'trace' | 'model' | 'runtimeName'> {
  return {
    runId,
    trace,
    grant,
    session: session ?? null,
    model: resolved.model.requested,
    runtimeName: runtime ?? '',
  };
}

/** The run that dispatched it, whose caps count for it, too. If that cannot be read, its own caps still apply. */
async function findParent(
  { store }: DispatchRooms,
  { requestRef }: Acceptance,
): Promise<{ readonly parent?: string }> {
  if (requestRef === undefined) return {};
  try {
    const { parent } = parseRequest(JSON.parse((await store.getBlob(requestRef)).toString('utf8')));
    return parent === undefined ? {} : { parent: parent.runId };
  } catch {
    return {};
  }
}

/** The worker ignores what it has already (AT2): its receipt may not be recorded yet. */
function listUnreceived(events: readonly StoredEvent[]): { kind: 'message'; id: string; body: string }[] {
  const received = new Set(
    events.flatMap((event) => (event.type === 'channel.received' ? [event.data.messageId] : [])),
  );
  return events.flatMap((event) =>
    event.type === 'channel.sent' && !received.has(event.data.messageId)
      ? [{ kind: 'message' as const, id: event.data.messageId, body: event.data.body }]
      : [],
  );
}

/** Why a run is settled by its own host as recovery would do it. */
export function describeBreak(error: Error): string {
  return error instanceof WorkerUnreachableError ? error.message : `the host failed: ${error.message}`;
}
