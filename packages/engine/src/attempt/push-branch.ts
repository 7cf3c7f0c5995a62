/**
 * The branch of a run on a remote repository goes there after the terminal event: a remote that is slow or gone delays no
 * ending, and changes none. What happened is an event of its own.
 *
 * P1  A run has one outcome of its push: `branch.pushed`, or `branch.push-failed` until it is tried again. Two hosts that
 *     push at once record the first once; what the other one records of a failure after that changes nothing.
 * P2  A push that fails leaves the branch here, under its name; a push that worked frees the name.
 *     A push that is aborted because its host ends has none, and is left to the next host. One whose run is ordered to stop
 *     has failed as `stopped`: it waits for a person.
 * P3  A host pushes the branches of its own runs. What a dead host left is pushed by the next one that works, beside its own
 *     runs, and never by a command that only settles it: no reader waits for a remote. The same push twice is one push.
 */
import { createRedactor, explainError, RemoteError } from '@caisson/ground';
import {
  CaissonError,
  findPush,
  isEnding,
  type DataOf,
  type DispatchRequest,
  type PushProblem,
} from '@caisson/protocol';
import { NO_ATTEMPT, type RunRecord, type StoredEvent } from '../ledger/index.ts';
import { backoffMs, orAborted, pause } from '../platform/index.ts';
import { listEarlierBranches, parseRequest, type DispatchRooms } from '../admission/index.ts';
import { StopOrderedError } from './active-run.ts';
import { resolveRemote } from './remote-access.ts';

const MAX_TRIES = 3;
const MAX_DETAIL = 2000;

/** `own`: the run of this host ended; `left`: a dead host left it; `asked`: a person wants it, also if it failed before. */
export type PushCause = 'own' | 'left' | 'asked';

type Rooms = Pick<
  DispatchRooms,
  'hostId' | 'ledger' | 'store' | 'secrets' | 'settings' | 'workspaces' | 'clock'
>;

/** Pushes what waits for it. Rejects only if the ledger cannot record the outcome; a push that ends with its host has none. */
export async function pushBranch(
  rooms: Rooms,
  record: RunRecord,
  runId: string,
  { cause = 'own', signal }: { readonly cause?: PushCause; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const again = cause === 'asked';
  const row = rooms.ledger.run(runId);
  if (cause === 'own' && row?.host !== rooms.hostId) return;
  if (!again && row?.waitingBranch !== 'pending') return; // without a look at its events: it follows every ending
  const events = await rooms.ledger.readRun(runId);
  const push = findPush(events, { isAsked: again });
  const ending = events.findLast((event) => isEnding(event));
  const made = ending?.data.branch;
  if (push === undefined || made === undefined || ending === undefined || push.status === 'pushed') return;
  const { remote, branch } = push;
  const { commit } = made;
  const found = await tryPush(rooms, events, { runId, branch, commit, attempt: ending.attempt, signal });
  const problem = found !== null && signal?.reason instanceof StopOrderedError ? STOPPED : found;
  if (signal?.aborted === true && problem !== null && problem !== STOPPED) return;
  // Another host may have pushed it meanwhile (P1).
  const now = findPush(await rooms.ledger.readRun(runId), { isAsked: again });
  if (now === undefined || now.status === 'pushed') return;
  const place = { ...NO_ATTEMPT, id: `pushed:${runId}.${commit}` };
  if (problem === null) return void (await record.append('branch.pushed', { remote, branch, commit }, place));
  await record.append('branch.push-failed', { remote, branch, ...problem }, NO_ATTEMPT);
}

interface Push {
  readonly runId: string;
  readonly branch: string;
  readonly commit: string;
  readonly attempt: number;
  readonly signal: AbortSignal | undefined;
}

type Problem = Pick<DataOf<'branch.push-failed'>, 'reason' | 'detail'>;

const STOPPED: Problem = { reason: 'stopped', detail: 'its push was stopped' };

async function tryPush(
  rooms: Rooms,
  events: readonly StoredEvent[],
  { signal, ...push }: Push,
): Promise<Problem | null> {
  let hide = (text: string): string => text;
  for (let tries = 1; ; tries += 1) {
    try {
      const resolving = resolveRemote(rooms, await readRequest(rooms, events));
      const order = await (signal === undefined ? resolving : orAborted(signal, resolving));
      const { token } = order.access;
      if (token !== undefined) hide = createRedactor([{ name: 'gitToken', value: token }]).redact;
      await rooms.workspaces.pushBranch({
        ...order,
        ...push,
        expected: findPushed(rooms, push),
        earlier: listEarlierBranches(rooms, rooms.ledger.run(push.runId)?.continues, push.branch),
        ...(signal === undefined ? {} : { signal }),
      });
      return null;
    } catch (error) {
      const isLast = tries === MAX_TRIES || signal?.aborted === true;
      if (isLast || !(error instanceof RemoteError) || error.problem !== 'unreachable')
        return { reason: problemOf(error), detail: hide(explainError(error)).slice(0, MAX_DETAIL) };
      await pause(rooms.clock, backoffMs(tries - 1), signal ?? new AbortController().signal);
    }
  }
}

function problemOf(error: unknown): PushProblem {
  if (error instanceof RemoteError) return error.problem;
  return error instanceof CaissonError && error.code.startsWith('SECRET') ? 'credentials' : 'unknown';
}

async function readRequest(
  { store }: Pick<DispatchRooms, 'store'>,
  events: readonly StoredEvent[],
): Promise<DispatchRequest> {
  const ref = events.find((event) => event.type === 'dispatch.accepted')?.data.requestRef;
  if (ref === undefined) throw new Error('the request of the run is not recorded');
  return parseRequest(JSON.parse((await store.getBlob(ref)).toString('utf8')));
}

/** Where an earlier run of the same task pushed the branch. */
function findPushed(
  { ledger }: Pick<DispatchRooms, 'ledger'>,
  { runId, branch }: Pick<Push, 'runId' | 'branch'>,
): string | null {
  const seen = new Set([runId]);
  for (let earlier = ledger.run(runId)?.continues; earlier !== undefined && !seen.has(earlier);) {
    seen.add(earlier);
    const pushed = ledger.read({ runId: earlier, types: ['branch.pushed'] }).at(-1)?.data;
    if (pushed?.branch === branch) return pushed.commit;
    earlier = ledger.run(earlier)?.continues;
  }
  return null;
}
