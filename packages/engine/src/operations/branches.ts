/** Branches that wait for a person: of runs that ran out of time, and those that are on no remote yet. */
import {
  CaissonError,
  definedOnly,
  findPush,
  isEnding,
  shellQuote,
  type RunBranch,
  type RunPush,
  type RunStatus,
} from '@caisson/protocol';
import { pushBranch } from '../attempt/index.ts';
import type { Engine } from '../engine.ts';
import { NO_ATTEMPT, type Ledger, type StoredEvent } from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';

/** The run has no branch that could be pushed or dropped. */
export class NoBranchError extends CaissonError {
  readonly code = 'NO_BRANCH';
}

export interface ListedBranch {
  readonly runId: string;
  readonly branch: string;
  readonly commit: string;
  /** How the run ended. */
  readonly status: RunStatus;
  readonly endedAt: string;
  /** Absent for a branch of the project's own repository, and for one that was not made. */
  readonly push?: RunPush;
  /** Its host has not let go of the run yet: it pushes the branch now, or is about to. */
  readonly isPushing?: true;
  /** Why it was not made: only a person can make it, or drop it. */
  readonly unmade?: string;
}

const WAITING = ['pending', 'failed', 'kept', 'late', 'held'] as const;

/** The newest first, without those that go on in another run. Runs whose branch does not wait are not read. */
export async function listBranches(engine: Engine): Promise<ListedBranch[]> {
  const { ledger } = engine;
  const runIds = WAITING.flatMap((waitingBranch) => ledger.runs({ waitingBranch })).map(({ runId }) => runId);
  return runIds
    .toSorted()
    .toReversed()
    .flatMap((runId) => describeBranch(engine, runId))
    .filter(({ runId, branch }) => !goesOnElsewhere(engine, runId, branch));
}

/** A run that continues it has the branch, or may get it yet. One that ended without it leaves it where it was. */
function goesOnElsewhere({ ledger }: Engine, runId: string, branch: string): boolean {
  const looked = new Set([runId]);
  for (const earlier of looked)
    for (const { runId: next, ending } of ledger.runs({ continues: earlier })) {
      const events = ledger.read({ runId: next, types: [ending ?? 'dispatch.accepted'] });
      if (events.some((event) => isOfBranch(event, branch))) return true;
      looked.add(next);
    }
  return false;
}

function isOfBranch(event: StoredEvent, branch: string): boolean {
  if (event.type === 'dispatch.accepted') return event.data.task.branch === branch;
  if (!isEnding(event)) return false;
  return event.data.branch?.name === branch && event.data.branch.status === 'created';
}

function describeBranch({ ledger }: Engine, runId: string): ListedBranch[] {
  const events = ledger.read({ runId });
  const ending = events.findLast((event) => isEnding(event));
  const made = ending?.data.branch;
  const status = ledger.run(runId)?.status;
  if (ending === undefined || made === undefined || status === undefined) return [];
  const { name: branch, commit } = made;
  const push = findPush(events, { isAsked: true });
  const unmade = made.status === 'created' ? undefined : describeUnmade(runId, made);
  const isPushing = push?.status === 'pending' && hasSlot(ledger, runId) ? (true as const) : undefined;
  return [{ runId, branch, commit, status, endedAt: ending.at, ...definedOnly({ push, isPushing, unmade }) }];
}

/** A run keeps its slot until its own host has pushed, and cleaned up. */
export function hasSlot({ leases }: Pick<Ledger, 'leases'>, runId: string): boolean {
  return leases.listSlots().some((slot) => slot.runId === runId);
}

function describeUnmade(runId: string, { status, detail }: RunBranch): string {
  if (detail !== undefined || status !== 'held') return detail ?? status;
  return `risky files wait for a yes; caisson logs ${runId} has the line that makes it`;
}

/** Tries the push of a run once more. A push that fails is an outcome. */
export async function pushAgain(engine: Engine, runId: string): Promise<RunPush> {
  requirePush(engine, runId);
  const signal = engine.dispatcher.closing;
  await pushBranch(engine.rooms, engine.recorder.of(runId), runId, { cause: 'asked', signal });
  return requirePush(engine, runId);
}

function requirePush({ ledger }: Engine, runId: string): RunPush {
  const push = findPush(ledger.read({ runId }), { isAsked: true });
  if (push !== undefined) return push;
  const waiting = ledger.run(runId)?.waitingBranch;
  if (waiting === 'held')
    throw new NoBranchError(`the branch of ${runId} was not made`, {
      remedy: 'caisson branches has the command that makes it: look at the work first.',
    });
  throw new NoBranchError(`${runId} has no branch for a remote repository`, {
    remedy:
      waiting === 'late'
        ? 'Its branch is in the repository of the project: push it from there, with git.'
        : LISTED,
  });
}

/** Deletes the branch here; the checkpoint of the run stays. One that is on its remote is no longer ours. */
export async function dropBranch(engine: Engine, runId: string): Promise<void> {
  const { ledger } = engine;
  const isWaiting = ledger.run(runId)?.waitingBranch !== undefined;
  const [waiting] = isWaiting ? describeBranch(engine, runId) : [];
  if (waiting === undefined)
    throw new NoBranchError(`${runId} has no branch that waits here`, { remedy: LISTED });
  const { branch, commit, push, isPushing = false } = waiting;
  if (isPushing)
    throw new NoBranchError(`the branch of ${runId} is being pushed at this moment`, {
      remedy: `Wait for that, or stop it first: caisson cancel ${runId}`,
    });
  if (push?.status === 'pushed')
    throw new NoBranchError(
      `the branch of ${runId} is on its remote, and not here any more: ${push.remote}`,
      {
        remedy: `Delete it there: git push ${shellQuote(push.remote)} --delete ${shellQuote(branch)}`,
      },
    );
  if (waiting.unmade === undefined) await deleteHere(engine, waiting);
  await engine.recorder.of(runId).append('branch.dropped', { branch, commit }, NO_ATTEMPT);
}

/** A branch that waits in our copy of a remote goes with its run; one in the project's repository is the user's. */
export async function forgetBranch(engine: Engine, runId: string): Promise<void> {
  const [made] = describeBranch(engine, runId);
  if (made?.push !== undefined && made.push.status !== 'pushed') await deleteHere(engine, made);
}

async function deleteHere(
  { ledger, workspaces }: Engine,
  { runId, branch, commit }: ListedBranch,
): Promise<void> {
  const launched = ledger.read({ runId, types: ['attempt.launched'] }).at(-1);
  const { custodyDir } = PreparedWorkspace.parse(launched?.data.workspace);
  await workspaces.dropBranch({ custodyDir, branch, commit });
}

const LISTED = 'caisson branches lists the runs whose branch waits.';
