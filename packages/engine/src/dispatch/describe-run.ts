/** A run as its ledger records it: the DispatchResult of 4-protocol. */
import {
  definedOnly,
  exitCodeOf,
  findPush,
  isEnding,
  parseStoredResult,
  statusOfEnding,
  TERMINAL_TYPES,
  type DispatchResult,
  type Failure,
  type Handoff,
  type Resolved,
  type Result,
  type TerminalType,
} from '@caisson/protocol';
import type { RunRow, StoredEvent, StoredOf } from '../ledger/index.ts';
import { type DispatchRooms, mayLackPatch, RunNotFoundError } from '../admission/index.ts';
import { findChangesOutsideScope, ScopeUnknownError } from '../attempt/index.ts';

/** Of a run whose acceptance this version cannot read. */
const UNREADABLE: Resolved = { capabilities: [], env: [], model: { requested: '', served: [] } };

export async function describeRun(
  rooms: Pick<DispatchRooms, 'ledger' | 'store' | 'workspaces'>,
  runId: string,
  { withContents = true }: { withContents?: boolean } = {},
): Promise<DispatchResult> {
  const read = await rooms.ledger.readRun(runId);
  const row = rooms.ledger.run(runId);
  if (row === null) throw new RunNotFoundError(runId);
  // The row and the events are of one moment.
  const events = row.lastSeq === read.length ? read : rooms.ledger.read({ runId });
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  const resolved = accepted?.data.resolved ?? UNREADABLE;
  const ending = events.findLast((event) => isEnding(event));
  const result = withContents ? withUsage(await findResult(rooms, ending), ending) : null;
  const usage = ending?.data.resultRef === undefined ? ending?.data.usage : undefined;
  const served = (result?.usage ?? usage)?.models ?? [];
  const forBranch = ending?.data.branch !== undefined;
  const outsideScope =
    withContents && ending !== undefined
      ? await findChangesOutsideScope(rooms, events, ending.data, { forBranch }).catch(emptyIfUnknown)
      : [];
  const { branch, checkpoint, risky, total, durationMs } = ending?.data ?? {};
  const failure = ending?.type === 'dispatch.failed' ? ending.data.failure : undefined;
  const [stdout, stderr, reply] = await Promise.all([
    textOf(rooms, result?.logs.stdout.ref),
    textOf(rooms, result?.logs.stderr.ref),
    textOf(rooms, result?.reply.ref),
  ]);
  return definedOnly({
    runId,
    ...describeStatus(row, events, ending),
    failure,
    runtime: row.runtime,
    exitCode: findExitCode(ending, failure),
    durationMs,
    total,
    costUsd: row.costUsd,
    costIsEstimate: row.costIsEstimate || undefined,
    ...{ stdout, stderr, reply },
    resolved: { ...resolved, model: { ...resolved.model, served } },
    ...{ result, usage },
    ...(withContents ? { risky, beside: checkpoint?.beside } : {}),
    ...(result?.patchRef === undefined && hasLeftWork(events, ending) ? { leftWork: true as const } : {}),
    ...(outsideScope.length === 0 ? {} : { outsideScope }),
    branch,
    handoff: findHandoff(events),
    repository: accepted?.data.repository,
    push: findPush(events),
    events: { count: events.length, lastSeq: events.at(-1)?.seq ?? 0 },
  });
}

/** What the worker recorded of its work: the only content that is read. Null where the run has none (yet). */
export async function readResult(
  rooms: Pick<DispatchRooms, 'ledger' | 'store'>,
  runId: string,
): Promise<Result | null> {
  const endings = rooms.ledger.read({ runId, types: TERMINAL_TYPES });
  return findResult(
    rooms,
    endings.findLast((event) => isEnding(event)),
  );
}

/** The push follows the ending: what became of it was not known when the hand-off was recorded. */
function findHandoff(events: readonly StoredEvent[]): Handoff | undefined {
  const recorded = events.findLast((event) => event.type === 'handoff.recorded')?.data.handoff;
  const pushed = events.some((event) => event.type === 'branch.pushed');
  return recorded && { ...recorded, verdict: { ...recorded.verdict, pushed } };
}

type EndingEvent = StoredOf<TerminalType>;

/** As the events have it: an ending that asked is `answered` once another run continues it. */
function describeStatus(
  row: RunRow,
  events: readonly StoredEvent[],
  ending: EndingEvent | undefined,
): Pick<DispatchResult, 'status' | 'continuedBy'> {
  if (ending === undefined) return { status: row.status };
  const failure = ending.type === 'dispatch.failed' ? ending.data.failure : undefined;
  const cause = ending.type === 'dispatch.cancelled' ? ending.data.cause : undefined;
  const status = statusOfEnding(ending.type, failure, cause);
  const answered = events.find((event) => event.type === 'question.answered');
  if (status !== 'waiting' || answered === undefined) return { status };
  const { continuedBy } = answered.data;
  return { status: 'answered', ...definedOnly({ continuedBy }) };
}

/** An ending without a result may still have a patch, or only a checkpoint. */
function hasLeftWork(events: readonly StoredEvent[], ending: StoredOf<TerminalType> | undefined): boolean {
  if (ending === undefined) return false;
  const { patchRef, patchMissing, checkpoint } = ending.data;
  if (patchRef !== undefined || patchMissing !== undefined) return true;
  const launched = events.findLast((event) => event.type === 'attempt.launched');
  const isChanged = checkpoint !== undefined && checkpoint.tree !== launched?.data.workspace?.baselineTree;
  return isChanged && mayLackPatch(ending.data);
}

/** The worker records what its agent reported; the ending has the total count. */
function withUsage(result: Result | null, ending: EndingEvent | undefined): Result | null {
  const usage = ending?.data.usage;
  return result === null || usage === undefined ? result : { ...result, usage };
}

async function findResult(
  rooms: Pick<DispatchRooms, 'store'>,
  ending: EndingEvent | undefined,
): Promise<Result | null> {
  const ref = ending?.data.resultRef;
  if (ending === undefined || ref === undefined) return null;
  return parseStoredResult(ending.runId ?? '', await rooms.store.getBlob(ref));
}

async function textOf(rooms: Pick<DispatchRooms, 'store'>, ref: string | undefined): Promise<string> {
  return ref === undefined ? '' : (await rooms.store.getBlob(ref)).toString('utf8');
}

/** Endings of earlier versions have 0 for failures, too. */
function findExitCode(ending: EndingEvent | undefined, failure: Failure | undefined): number | null {
  return exitCodeOf(failure === undefined ? 'finished' : 'failed', ending?.data.exitCode ?? null);
}

/** A run of another version can still be shown; apply and branch refuse it. */
function emptyIfUnknown(error: unknown): string[] {
  if (error instanceof ScopeUnknownError) return [];
  throw error;
}
