/** What an agent must know before it gets its task. */
import { definedOnly, type Job } from '@caisson/protocol';
import { findResumedRun, type AdmittedRun, type DispatchRooms } from '../admission/index.ts';
import type { PreparedWorkspace } from '../workspace/index.ts';
import type { EarlierConversation, WorkspaceStart } from './continued-work.ts';
import { describeEarlierRuns } from './earlier-runs.ts';
import type { AgentConversation } from './conversation-folder.ts';

export interface NoteParts {
  readonly conversation: AgentConversation;
  readonly earlier: EarlierConversation | null;
  readonly start: WorkspaceStart;
  readonly workspace: Pick<PreparedWorkspace, 'kind' | 'startTree' | 'changedSince'>;
}

/** The user's prompt with its notes, for an agent that resumes its conversation and for one that has none. */
export async function composeUserPrompts(
  rooms: Pick<DispatchRooms, 'ledger' | 'store'>,
  run: Pick<AdmittedRun, 'runId' | 'request' | 'runtime' | 'userPrompt'>,
  parts: NoteParts,
): Promise<Pick<Job['prompts'], 'user' | 'fresh'>> {
  const {
    request: { keepWork },
    userPrompt,
    runId,
  } = run;
  const isResumed = parts.conversation.resume !== undefined;
  const withNotes = (notes: readonly string[]): string => [...notes, userPrompt].join('\n\n');
  const kept = (isResumed ? findResumedRun(rooms, run) : undefined) ?? keepWork;
  const fresh = keepWork === undefined ? userPrompt : withNotes(await describeEarlierRuns(rooms, kept));
  if (!isResumed) return { user: fresh };
  const user = withNotes(notesFor(parts, runId));
  return keepWork === undefined ? { user } : { user, fresh };
}

/** For a resumed conversation. */
function notesFor({ earlier, start, workspace }: NoteParts, runId: string): readonly string[] {
  const isOwn = earlier?.runId === runId;
  // What is merged then is the work of the run before.
  if (isWorkLost(earlier, isOwn ? definedOnly({ work: start.work }) : start, workspace))
    return [LOST_WORK_NOTE];
  if (isOwn) return [NEXT_ATTEMPT_NOTE];
  return noteChanges(workspace.changedSince ?? []);
}

/** Whether a resumed conversation has to do without its work; `work` is what its workspace was to begin with. */
export function isWorkLost(
  conversation: EarlierConversation | null,
  { work, merge }: WorkspaceStart,
  { kind, startTree }: Pick<PreparedWorkspace, 'kind' | 'startTree'>,
): boolean {
  if (merge !== undefined) return false;
  if (work !== undefined) return startTree === undefined;
  return conversation?.work.kind === 'missing' && kind !== 'in-place';
}

/** A resumed conversation remembers files as it left them. */
function noteChanges(files: readonly string[]): string[] {
  if (files.length === 0) return [];
  return [`Note: these files were changed since you last saw them: ${JSON.stringify(files)}`];
}

/** The note for a conversation that is resumed without its work: it would rely on missing files. */
const LOST_WORK_NOTE =
  'Note: the working folder is new. The changes that you made earlier in this conversation are not in it.';

/** For another attempt of the same run, which gets its task again: not every program finds its conversation. */
const NEXT_ATTEMPT_NOTE =
  'Note: the attempt before this one broke off. What it changed is in the working folder: go on from it. The task was:';
