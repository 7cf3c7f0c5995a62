/**
 * What an attempt continues: the newest conversation of the attempts before it or, where there is none, of the run that
 * it continues. A resumed conversation remembers its edits, so its workspace has them too: it begins with the patch of
 * that attempt, on the same baseline. The new patch then contains everything, and only the last run of a chain is
 * applied. Without a conversation an attempt begins with the present files: half a task done twice is not the task.
 *
 * A run that keeps the work of another one (`keepWork`) begins with the present files and that work in them, with or
 * without the conversation: its task is about that work.
 */
import type { Result, SessionResume } from '@caisson/protocol';
import type { StoredOf } from '../ledger/index.ts';
import {
  describeMergeProblem,
  PreparedWorkspace,
  WorkspaceError,
  type EarlierWork,
  type FinishedWork,
} from '../workspace/index.ts';
import {
  findKeptWork,
  findResumedRun,
  findWorkAttempt,
  planStart,
  type AdmittedRun,
  type DispatchRooms,
} from '../admission/index.ts';

/** A conversation, whose it is, and what was done in it. */
export interface EarlierConversation {
  readonly runId: string;
  readonly resume: SessionResume;
  readonly work: ConversationWork;
}

/** `missing`: something was done, and there is no patch of it. */
type ConversationWork =
  | { readonly kind: 'patch'; readonly patchRef: string; readonly attempt: number }
  | { readonly kind: 'none' | 'missing' };

export function findEarlierConversation(
  rooms: Pick<DispatchRooms, 'ledger'>,
  run: Pick<AdmittedRun, 'runId' | 'request' | 'runtime'>,
  attempt: number,
): EarlierConversation | null {
  const { runId } = run;
  const ended = attempt === 1 ? [] : rooms.ledger.read({ runId, types: ['attempt.ended'] });
  const newest = ended.findLastIndex(({ data }) => data.resume !== undefined);
  const own = ended[newest]?.data.resume;
  if (own !== undefined) return { runId, resume: own, work: workOf(ended.slice(newest)) };
  const { resume } = run.request;
  const resumed = findResumedRun(rooms, run);
  if (resumed === undefined || resume === undefined) return null;
  return { runId: resumed, resume, work: workOfRun(rooms, resumed, resume) };
}

/** The conversation of an ended run that another run can continue. */
export function findConversationOfRun(
  { ledger }: Pick<DispatchRooms, 'ledger'>,
  runId: string,
  result: Pick<Result, 'resume' | 'usage'> | null,
): SessionResume | undefined {
  const hasAnswered = result?.usage === undefined ? undefined : result.usage.outputTokens > 0;
  const ended = ledger.read({ runId, types: ['attempt.ended'] });
  return (
    unlessUnanswered(result?.resume, hasAnswered) ??
    ended.findLast(({ data }) => data.resume !== undefined)?.data.resume
  );
}

/** A conversation without an answer of a model cannot be continued, and some programs do not find it. */
export function unlessUnanswered(
  resume: SessionResume | undefined,
  hasAnswered: boolean | undefined,
): SessionResume | undefined {
  return hasAnswered === false ? undefined : resume;
}

/** The work of the resumed conversation; null if it left nothing, or works in place and still has it. */
export async function findContinuedWork(
  rooms: Pick<DispatchRooms, 'ledger' | 'store'>,
  run: Pick<AdmittedRun, 'workspaceKind'>,
  conversation: EarlierConversation | null,
): Promise<EarlierWork | null> {
  if (conversation?.work.kind !== 'patch' || run.workspaceKind === 'in-place') return null;
  const { runId } = conversation;
  const { patchRef, attempt } = conversation.work;
  const launches = rooms.ledger.read({ runId, types: ['attempt.launched'] });
  const launched = launches.findLast((event) => event.attempt === attempt);
  const workspace = PreparedWorkspace.safeParse(launched?.data.workspace).data;
  if (workspace === undefined || workspace.kind !== run.workspaceKind) return null;
  const { baselineTree, baseCommit, baselineCommit } = workspace;
  return { runId, baselineTree, baseCommit, baselineCommit, patch: await rooms.store.getBlob(patchRef) };
}

/** What a workspace begins with beside the present files. */
export interface WorkspaceStart {
  readonly work?: EarlierWork;
  readonly merge?: FinishedWork;
}

/** `conversation` is the conversation that is resumed, if one is. */
export async function findStart(
  rooms: Pick<DispatchRooms, 'ledger' | 'store' | 'workspaces'>,
  run: Pick<AdmittedRun, 'runId' | 'request' | 'runtime' | 'workspaceKind'>,
  conversation: EarlierConversation | null,
): Promise<WorkspaceStart> {
  const { keepWork } = run.request;
  if (keepWork === undefined || conversation?.runId === run.runId) {
    const work = await findContinuedWork(rooms, run, conversation);
    if (work !== null) return { work };
    if (keepWork === undefined) return {};
  }
  const kept = (conversation === null ? undefined : findResumedRun(rooms, run)) ?? keepWork;
  const start = planStart(await findKeptWork(rooms, kept), run.workspaceKind);
  switch (start.kind) {
    case 'again':
      return { work: start.work };
    case 'merge':
      return run.workspaceKind === 'in-place' ? {} : { merge: start.work };
    case 'present':
      return {};
    default:
      throw new WorkspaceError(describeMergeProblem({ kind: 'gone' }, kept).detail); // since its admission
  }
}

type Ended = Pick<StoredOf<'attempt.ended'>, 'attempt'> & {
  readonly data: Pick<StoredOf<'attempt.ended'>['data'], 'patchRef' | 'patchMissing'>;
};

/** What the attempts of one conversation did: each began with the patch of the one before. */
function workOf(attempts: readonly Ended[]): ConversationWork {
  const last = attempts.findLast(({ data }) => data.patchRef !== undefined);
  if (last?.data.patchRef !== undefined)
    return { kind: 'patch', patchRef: last.data.patchRef, attempt: last.attempt };
  return { kind: attempts.some(({ data }) => data.patchMissing !== undefined) ? 'missing' : 'none' };
}

/** An ending may name the work of an attempt that was before the conversation, which knows nothing of it. */
function workOfRun(
  { ledger }: Pick<DispatchRooms, 'ledger'>,
  runId: string,
  { sessionId }: SessionResume,
): ConversationWork {
  const type = ledger.run(runId)?.ending;
  const ending = type === undefined ? undefined : ledger.read({ runId, types: [type] }).at(-1);
  if (ending === undefined) return { kind: 'none' };
  const ended = ledger.read({ runId, types: ['attempt.ended'] });
  const attempt = findWorkAttempt(ended, ending);
  const first = ended.find(({ data }) => data.resume?.sessionId === sessionId)?.attempt ?? ending.attempt;
  return attempt < first ? { kind: 'none' } : workOf([{ attempt, data: ending.data }]);
}
