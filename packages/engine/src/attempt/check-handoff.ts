/**
 * The hand-off of a run that ends: the agent's words, with the host's own numbers and verdict. Nothing of the agent is
 * taken for a fact: files, lines and scope come from the stored patch, the rest from what was recorded of the run.
 */
import { explainError, listPatchFiles, proveApplies, type PatchFile } from '@caisson/ground';
import {
  definedOnly,
  MAX_HANDOFF_FILES,
  type Ending,
  type EventContent,
  type FoundHandoff,
  type RecordedHandoff,
  type Result,
  type RunBranch,
  type RunTotal,
  type Usage,
} from '@caisson/protocol';
import { mayLackPatch, type DispatchRooms, type RecordedWork } from '../admission/index.ts';
import type { PreparedWorkspace } from '../workspace/index.ts';
import { findChangesOutsideScope } from './outside-scope.ts';
import type { MayPass } from './passing-failure.ts';

interface EndedWork {
  readonly runId: string;
  /** Its task ends in a hand-off in any case. */
  readonly isForBranch: boolean;
  readonly workspace: PreparedWorkspace;
  readonly ending: Ending;
  readonly result: Result | null;
  readonly work: RecordedWork & { readonly patchRef?: string | undefined };
  readonly branch?: RunBranch | undefined;
  readonly usage: Usage | undefined;
  readonly durationMs: number;
  /** All attempts, where there were several. */
  readonly total: RunTotal | undefined;
  /** Names of files may have a secret in them. */
  redact(text: string): string;
}

type Rooms = Pick<DispatchRooms, 'ledger' | 'store' | 'workspaces'>;

/** The event of the hand-off, for the moment of the ending. One that cannot be checked is a warning: the run ends all the same. */
export async function recordHandoff(
  rooms: Rooms,
  ended: EndedWork,
  mayPass: MayPass,
): Promise<EventContent<'handoff.recorded' | 'warning'>[]> {
  try {
    const handoff = await checkHandoff(rooms, ended);
    return handoff === null ? [] : [{ type: 'handoff.recorded', data: { handoff } }];
  } catch (error) {
    if (mayPass(error)) throw error;
    const message = `the hand-off could not be checked: ${explainError(error)}`.slice(0, 4000);
    return [{ type: 'warning', data: { source: 'handoff', message } }];
  }
}

/**
 * The hand-off to record, or null where there is none: the agent gave none, and nobody asked for one or the run did not
 * come to its end. A run that did, or that ran out of time, gets one from the host.
 */
async function checkHandoff(rooms: Rooms, ended: EndedWork): Promise<RecordedHandoff | null> {
  const { runId, ending, result, isForBranch } = ended;
  const found = result?.handoff;
  if (found === undefined && !(isHandedOff(ending) && isForBranch)) return null;
  const events = await rooms.ledger.readRun(runId);
  const task = events.find((event) => event.type === 'dispatch.accepted')?.data.task;
  if (task === undefined) return null;
  const { patchRef } = ended.work;
  const patch = patchRef === undefined ? Buffer.alloc(0) : await rooms.store.getBlob(patchRef);
  const files = listPatchFiles(patch);
  const forBranch = ended.branch !== undefined;
  const outside = await findChangesOutsideScope(rooms, events, ended.work, { forBranch });
  const saved = mayLackPatch(ended.work) ? await rooms.workspaces.listSavedChanges(ended.workspace) : [];
  const names = listNames(files, saved).map(ended.redact);
  const outOfScope = outside.map(ended.redact);
  const isEmpty = names.length === 0 && ended.work.patchMissing === undefined;
  return {
    taskId: task.id,
    ...takeWords(ended, found),
    ...definedOnly({ diffRef: patchRef }),
    filesChanged: names.slice(0, MAX_HANDOFF_FILES),
    ...(names.length > MAX_HANDOFF_FILES ? { filesOmitted: names.length - MAX_HANDOFF_FILES } : {}),
    outOfScope: outOfScope.slice(0, MAX_HANDOFF_FILES),
    ...definedOnly({
      branch: task.branch,
      baseCommit: ended.workspace.baseCommit ?? undefined,
      headCommit: ended.branch?.commit,
    }),
    metrics: measure(files, ended),
    verdict: {
      patchApplies: patch.length === 0 ? isEmpty : await applies(ended, patch),
      branchExists: ended.branch?.status === 'created',
      scopeRespected: outOfScope.length === 0,
      verify: describeVerify(result),
      isEmpty,
    },
  };
}

const isHandedOff = (ending: Ending): boolean =>
  ending.kind === 'finished' || (ending.kind === 'failed' && ending.failure.reason === 'timeout');

type Words = Pick<RecordedHandoff, 'status' | 'by' | 'problem' | 'summary' | 'concerns' | 'suggestions'>;

/** The agent's words; without them the host says what it knows. */
function takeWords({ ending, result }: EndedWork, found: FoundHandoff | undefined): Words {
  if (found !== undefined && 'given' in found) {
    const { status, summary, concerns = [], suggestions = [] } = found.given;
    return { status, by: 'agent', summary, concerns, suggestions };
  }
  const reply = result?.reply.head.trim() ?? '';
  const isLate = ending.kind === 'failed';
  const none = isLate ? 'The agent ran out of time before it reported.' : 'The agent left no report.';
  const summary = reply === '' ? none : reply;
  return {
    ...{ status: 'partial', by: 'host', summary, concerns: [], suggestions: [] },
    ...definedOnly({ problem: found?.problem }),
  };
}

/** `saved`: what a checkpoint has, where there is no patch. */
function listNames(files: readonly PatchFile[], saved: readonly string[]): string[] {
  const names = files.flatMap(({ path, previousPath }) =>
    previousPath === undefined ? [path] : [previousPath, path],
  );
  return [...new Set([...names, ...saved])].toSorted();
}

function measure(files: readonly PatchFile[], ended: EndedWork): RecordedHandoff['metrics'] {
  const sum = (of: 'linesAdded' | 'linesRemoved'): number => files.reduce((all, file) => all + file[of], 0);
  const created = files.filter(({ status }) => status === 'added').length;
  const usage = ended.total?.usage ?? ended.usage;
  return {
    linesAdded: sum('linesAdded'),
    linesRemoved: sum('linesRemoved'),
    filesCreated: created,
    filesModified: files.length - created,
    tokensUsed: (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0),
    toolCallCount: usage?.toolCalls ?? 0,
    durationMs: ended.total?.durationMs ?? ended.durationMs,
  };
}

/** By applying it once more: the worker's word is not enough. */
async function applies({ workspace }: EndedWork, patch: Buffer): Promise<boolean> {
  const { gitDir, baselineTree } = workspace;
  return proveApplies({ gitDir, baselineTree, patch });
}

function describeVerify(result: Result | null): RecordedHandoff['verdict']['verify'] {
  if (result?.verify === undefined) return 'none';
  return result.verify.passed ? 'passed' : 'failed';
}
