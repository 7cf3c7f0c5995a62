// What the events add up to. Every function here is pure: a row and an event give the next row, so that the tables
// can be dropped and replayed at any time (L7). An event of another version still moves its run; what it says that this
// version cannot read, the row lacks.

import {
  definedOnly,
  isEnding,
  isTerminal,
  knownTypeOf,
  statusOfEnding,
  type DataOf,
  type EventContent,
  type EventType,
  type TerminalType,
  type UnknownContent,
} from '@caisson/protocol';
import { DEFAULT_POOL } from './contract.ts';
import type { AttemptRow, EventFrame, SpendRow } from './contract.ts';
import type { Draft } from './draft.ts';
import type { RunState } from './ledger-view.ts';
import { projectBranch } from './project-branch.ts';
import { projectApprovals } from './project-approvals.ts';
import { projectQuestion } from './project-questions.ts';
import { projectThreads } from './project-threads.ts';

/** The part of a stored event that projections read. */
export type ProjectedEvent = Pick<EventFrame, 'runId' | 'attempt' | 'at' | 'offset'> &
  (EventContent | UnknownContent);

const DEFAULT_PRIORITY = 5;
/** What changes a run beside its life: its host, and what happens after its ending. */
const BESIDE_LIFE: ReadonlySet<string> = new Set<EventType>([
  'run.adopted',
  'evidence.sealed',
  'run.applied',
  'run.forgotten',
  'timeout.drained',
  'branch.pushed',
  'branch.push-failed',
  'branch.dropped',
]);

/** True for the few types that change a row; the rest need not be read. */
export function isProjected(type: string): boolean {
  return (
    type.startsWith('dispatch.') ||
    type.startsWith('attempt.') ||
    type.startsWith('question.') ||
    type.startsWith('approval.') ||
    type.startsWith('thread.') ||
    BESIDE_LIFE.has(type)
  );
}

/** Puts the rows that follow from `event` into the draft. */
export function project(event: ProjectedEvent, draft: Draft): void {
  if (event.runId === null || !isProjected(knownTypeOf(event))) return;
  const run = projectRun(draft.run(event.runId), event);
  if (run !== null) draft.putRun(projectBranch(run, event));
  if (event.attempt > 0) {
    const attempt = projectAttempt(draft.attempt(event.runId, event.attempt), event);
    if (attempt !== null) draft.putAttempt(attempt);
  }
  projectQuestion(draft, event);
  projectApprovals(draft, event);
  projectThreads(draft, event);
  const spend = projectSpend(draft.spend(event.runId), event, run);
  if (spend !== null) draft.putSpend(spend);
}

/** The run after `event`, or `null` when it changes nothing. */
export function projectRun(row: RunState | null, event: ProjectedEvent): RunState | null {
  const type = knownTypeOf(event);
  if (type === 'dispatch.accepted') return acceptedRun(event);
  if (row === null) return null;
  const attempt = Math.max(row.attempt, event.attempt);
  switch (type) {
    case 'attempt.launched':
      return { ...row, attempt, status: 'running' };
    case 'dispatch.started':
      return { ...row, attempt, status: 'running', startedAt: row.startedAt ?? event.at };
    case 'attempt.ended':
      return { ...row, attempt, status: 'queued' };
    case 'run.adopted':
      return event.type === 'run.adopted' ? { ...row, host: event.data.host, epoch: event.data.epoch } : null;
    case 'question.answered':
      return row.status === 'waiting' ? answeredRun(row, event) : null;
    case 'evidence.sealed':
      return definedOnly({ ...row, unsealed: undefined });
    case 'run.applied':
      return appliedRun(row, event);
    case 'timeout.drained':
      return row.worker === undefined ? row : { ...row, worker: { ...row.worker, drainedAt: event.at } };
    case 'branch.pushed':
    case 'branch.push-failed':
    case 'branch.dropped':
      return row;
    case 'run.forgotten':
      return definedOnly({ ...row, unsealed: undefined, forgottenAt: event.at });
    default:
      return isTerminal(type) ? endedRun({ ...row, attempt }, event, type) : null;
  }
}

/** The pool in whose queue the run is, or `null` when it does not wait. A retry keeps its slot and does not queue. */
export function queuedIn(run: RunState): string | null {
  return run.status === 'queued' && run.attempt === 0 ? (run.pool ?? DEFAULT_POOL) : null;
}

function acceptedRun(event: ProjectedEvent): RunState {
  const data: Partial<DataOf<'dispatch.accepted'>> = event.type === 'dispatch.accepted' ? event.data : {};
  const { task } = data;
  return definedOnly({
    runId: event.runId ?? '',
    status: 'queued',
    priority: data.task?.priority ?? DEFAULT_PRIORITY,
    pool: data.pool,
    acceptedOffset: event.offset,
    acceptedAt: event.at,
    attempt: event.attempt,
    host: data.host ?? '',
    session: data.session,
    idempotencyKey: data.idempotencyKey,
    continues: data.continues,
    description: data.task?.description ?? '',
    runtime: data.runtime,
    agent: data.agent ?? data.resolved?.agent?.name,
    pushes: data.repository === undefined ? undefined : data.repository.push === true,
    worker: task?.pool === undefined ? undefined : definedOnly({ pool: task.pool, branch: task.branch }),
  });
}

function endedRun(row: RunState, event: ProjectedEvent, ending: TerminalType): RunState {
  const { durationMs, total } = endingOf(event);
  const all = total?.usage;
  const failure = event.type === 'dispatch.failed' ? event.data.failure : undefined;
  const cause = event.type === 'dispatch.cancelled' ? event.data.cause : undefined;
  return definedOnly({
    ...row,
    status: statusOfEnding(ending, failure, cause),
    endedAt: event.at,
    ending,
    cause,
    durationMs,
    failure,
    costUsd: all === undefined ? costOf(event) : all.costUsd,
    costIsEstimate: isEstimated(event) || all?.estimated !== undefined ? (true as const) : undefined,
    unsealed: true as const,
  });
}

/** Another run continues it; its ending stays what it was. */
function answeredRun(row: RunState, event: ProjectedEvent): RunState {
  const continuedBy = event.type === 'question.answered' ? event.data.continuedBy : undefined;
  return definedOnly({ ...row, status: 'answered', continuedBy });
}

/** The last time counts: conflicts may be gone with it. A part leaves the rest to be taken. */
function appliedRun(row: RunState, event: ProjectedEvent): RunState {
  if (event.type === 'run.applied' && event.data.isPartial === true) return row;
  const hasConflicts = event.type === 'run.applied' && event.data.hasConflicts;
  return definedOnly({
    ...row,
    appliedAt: event.at,
    appliedWithConflicts: hasConflicts ? (true as const) : undefined,
  });
}

/** The attempt after `event`, or `null` when it changes nothing. */
export function projectAttempt(row: AttemptRow | null, event: ProjectedEvent): AttemptRow | null {
  const base = row ?? { runId: event.runId ?? '', attempt: event.attempt };
  const type = knownTypeOf(event);
  switch (type) {
    case 'attempt.launched': {
      const handle = event.type === 'attempt.launched' ? event.data.handle : undefined;
      return definedOnly({ ...base, launchedAt: event.at, handle });
    }
    case 'dispatch.started':
      return { ...base, startedAt: event.at };
    default: {
      if (type !== 'attempt.ended' && !isTerminal(type)) return null;
      const isFailed = event.type === 'attempt.ended' || event.type === 'dispatch.failed';
      const failure = isFailed ? event.data.failure : undefined;
      return definedOnly({ ...base, endedAt: event.at, ending: type, failure });
    }
  }
}

/** What the run has cost after `event`, or `null` when it changes nothing. */
export function projectSpend(
  row: SpendRow | null,
  event: ProjectedEvent,
  run: RunState | null,
): SpendRow | null {
  const type = knownTypeOf(event);
  if (type !== 'attempt.ended' && !isTerminal(type)) return null;
  const { usage } = endingOf(event);
  const cost = costOf(event);
  const inputTokens = (row?.inputTokens ?? 0) + (usage?.inputTokens ?? 0);
  const outputTokens = (row?.outputTokens ?? 0) + (usage?.outputTokens ?? 0);
  const estimatedCosts = (row?.estimatedCosts ?? 0) + (isEstimated(event) ? 1 : 0);
  const models = new Set([...(row?.models ?? []), ...(usage?.models ?? [])]);
  return definedOnly({
    runId: event.runId ?? '',
    session: run?.session ?? null,
    day: event.at.slice(0, 10),
    costUsd: cost === undefined ? (row?.costUsd ?? null) : (row?.costUsd ?? 0) + cost,
    unknownCosts: (row?.unknownCosts ?? 0) + (cost === undefined ? 1 : 0),
    estimatedCosts: estimatedCosts === 0 ? undefined : estimatedCosts,
    inputTokens,
    outputTokens,
    tokens: inputTokens + outputTokens,
    cacheTokens: (row?.cacheTokens ?? 0) + (usage?.cacheReadTokens ?? 0) + (usage?.cacheWriteTokens ?? 0),
    turns: (row?.turns ?? 0) + (usage?.turns ?? 0),
    toolCalls: (row?.toolCalls ?? 0) + (usage?.toolCalls ?? 0),
    agent: run?.agent,
    runtime: run?.runtime,
    models: models.size === 0 ? undefined : [...models].sort(),
  });
}

/** What an ending of an attempt or of a run says of its costs; nothing where this version cannot read it. */
function endingOf(event: ProjectedEvent): Partial<DataOf<'dispatch.finished'>> {
  if (isEnding(event)) return event.data;
  return event.type === 'attempt.ended' ? { usage: event.data.usage, costUsd: event.data.costUsd } : {};
}

function costOf(event: ProjectedEvent): number | undefined {
  const { costUsd, usage } = endingOf(event);
  return costUsd ?? usage?.costUsd;
}

function isEstimated(event: ProjectedEvent): boolean {
  return endingOf(event).usage?.estimated !== undefined;
}
