// What the events add up to. Every function here is pure: a row and an event give the next row, so that the tables
// can be dropped and replayed at any time (L7). Data was checked by whoever emitted it; an event of another version
// may lack a field, and then the row lacks it too.

import { isTerminal, statusOfEnding } from '@caisson/protocol';
import type { Failure } from '@caisson/protocol';
import { DEFAULT_POOL } from './contract.ts';
import type { AttemptRow, QuestionRow, SpendRow, StoredEvent } from './contract.ts';
import type { Draft } from './draft.ts';
import type { RunState } from './ledger-view.ts';

/** The part of a stored event that projections look at. */
export type ProjectedEvent = Pick<StoredEvent, 'runId' | 'attempt' | 'type' | 'at' | 'offset' | 'data'>;

const DEFAULT_PRIORITY = 5;
/** After these nobody owes the run a seal any more. */
const SETTLES_SEAL = new Set(['evidence.sealed', 'run.forgotten']);

/** True for the few types that change a row; the rest need not be looked at. */
export function isProjected(type: string): boolean {
  return (
    type.startsWith('dispatch.') ||
    type.startsWith('attempt.') ||
    type.startsWith('question.') ||
    SETTLES_SEAL.has(type)
  );
}

/** Puts the rows that follow from `event` into the draft. */
export function project(event: ProjectedEvent, draft: Draft): void {
  if (event.runId === null || !isProjected(event.type)) return;
  const run = projectRun(draft.run(event.runId), event);
  if (run !== null) draft.putRun(run);
  if (event.attempt > 0) {
    const attempt = projectAttempt(draft.attempt(event.runId, event.attempt), event);
    if (attempt !== null) draft.putAttempt(attempt);
  }
  const questionId = text(event.data['questionId']);
  if (questionId !== undefined) {
    const question = projectQuestion(draft.question(questionId), event);
    if (question !== null) draft.putQuestion(question);
  }
  const spend = projectSpend(draft.spend(event.runId), event, run?.session ?? null);
  if (spend !== null) draft.putSpend(spend);
}

/** The run after `event`, or `null` when it changes nothing. */
export function projectRun(row: RunState | null, event: ProjectedEvent): RunState | null {
  if (event.type === 'dispatch.accepted') return acceptedRun(event);
  if (row === null) return null;
  if (SETTLES_SEAL.has(event.type))
    return row.unsealed === undefined ? null : compact({ ...row, unsealed: undefined });
  const attempt = Math.max(row.attempt, event.attempt);
  switch (event.type) {
    case 'attempt.launched':
      return { ...row, attempt, status: 'running' };
    case 'dispatch.started':
      return { ...row, attempt, status: 'running', startedAt: row.startedAt ?? event.at };
    case 'attempt.ended':
      return { ...row, attempt, status: 'queued' };
    case 'question.answered':
      return row.status === 'waiting' ? answeredRun(row, event) : null;
    default:
      return isTerminal(event.type) ? endedRun({ ...row, attempt }, event) : null;
  }
}

/** The pool in whose queue the run stands, or `null` when it does not wait. A retry keeps its slot and does not queue. */
export function queuedIn(run: RunState): string | null {
  return run.status === 'queued' && run.attempt === 0 ? (run.pool ?? DEFAULT_POOL) : null;
}

function acceptedRun(event: ProjectedEvent): RunState {
  const { data } = event;
  const task = members(data['task']);
  const resolved = members(data['resolved']);
  return compact({
    runId: event.runId ?? '',
    status: 'queued',
    priority: number(task['priority']) ?? DEFAULT_PRIORITY,
    pool: text(data['pool']),
    acceptedOffset: event.offset,
    acceptedAt: event.at,
    attempt: event.attempt,
    host: text(data['host']) ?? '',
    session: text(data['session']),
    idempotencyKey: text(data['idempotencyKey']),
    continues: text(data['continues']),
    description: text(task['description']) ?? '',
    runtime: nameOf(data['runtime']) ?? nameOf(resolved['runtime']),
    agent: nameOf(data['agent']) ?? nameOf(resolved['agent']),
  });
}

function endedRun(row: RunState, event: ProjectedEvent): RunState {
  const failure = failureOf(event);
  const cause = text(event.data['cause']);
  return compact({
    ...row,
    status: statusOfEnding(event.type, failure, cause),
    endedAt: event.at,
    ending: event.type,
    cause,
    durationMs: number(event.data['durationMs']),
    failure,
    costUsd: costOf(event),
    costIsEstimate: isEstimated(event) ? (true as const) : undefined,
    unsealed: true as const,
  });
}

/** Another run continues it; its ending stays what it was. */
function answeredRun(row: RunState, event: ProjectedEvent): RunState {
  return compact({ ...row, status: 'answered', continuedBy: text(event.data['continuedBy']) });
}

/** The attempt after `event`, or `null` when it changes nothing. */
export function projectAttempt(row: AttemptRow | null, event: ProjectedEvent): AttemptRow | null {
  const base = row ?? { runId: event.runId ?? '', attempt: event.attempt };
  switch (event.type) {
    case 'attempt.launched':
      return compact({ ...base, launchedAt: event.at, handle: event.data['handle'] });
    case 'dispatch.started':
      return { ...base, startedAt: event.at };
    default:
      if (event.type !== 'attempt.ended' && !isTerminal(event.type)) return null;
      return compact({ ...base, endedAt: event.at, ending: event.type, failure: failureOf(event) });
  }
}

/** The question after `event`, or `null` when it changes nothing. */
export function projectQuestion(row: QuestionRow | null, event: ProjectedEvent): QuestionRow | null {
  if (event.type === 'question.asked') return askedQuestion(event);
  if (row === null) return null;
  if (event.type === 'question.expired') return { ...row, status: 'expired', closedAt: event.at };
  if (event.type !== 'question.answered') return null;
  return compact<QuestionRow>({
    ...row,
    status: 'answered',
    answer: event.data['answer'],
    continuedBy: text(event.data['continuedBy']),
    closedAt: event.at,
  });
}

function askedQuestion(event: ProjectedEvent): QuestionRow {
  const { data } = event;
  return compact({
    questionId: text(data['questionId']) ?? '',
    runId: event.runId ?? '',
    attempt: event.attempt,
    status: 'open',
    text: text(data['text']) ?? '',
    options: Array.isArray(data['options']) ? (data['options'] as readonly unknown[]) : undefined,
    context: data['context'],
    partialState: data['partialState'],
    askedAt: event.at,
    askedOffset: event.offset,
    deadlineAt: text(data['deadlineAt']),
  });
}

/** What the run has cost after `event`, or `null` when it changes nothing. */
export function projectSpend(
  row: SpendRow | null,
  event: ProjectedEvent,
  session: string | null,
): SpendRow | null {
  if (event.type !== 'attempt.ended' && !isTerminal(event.type)) return null;
  const usage = members(event.data['usage']);
  const cost = costOf(event);
  const inputTokens = (row?.inputTokens ?? 0) + (number(usage['inputTokens']) ?? 0);
  const outputTokens = (row?.outputTokens ?? 0) + (number(usage['outputTokens']) ?? 0);
  const estimatedCosts = (row?.estimatedCosts ?? 0) + (isEstimated(event) ? 1 : 0);
  return {
    runId: event.runId ?? '',
    session,
    day: event.at.slice(0, 10),
    costUsd: cost === undefined ? (row?.costUsd ?? null) : (row?.costUsd ?? 0) + cost,
    unknownCosts: (row?.unknownCosts ?? 0) + (cost === undefined ? 1 : 0),
    ...(estimatedCosts === 0 ? {} : { estimatedCosts }),
    inputTokens,
    outputTokens,
    tokens: inputTokens + outputTokens,
    cacheTokens:
      (row?.cacheTokens ?? 0) +
      (number(usage['cacheReadTokens']) ?? 0) +
      (number(usage['cacheWriteTokens']) ?? 0),
    turns: (row?.turns ?? 0) + (number(usage['turns']) ?? 0),
    toolCalls: (row?.toolCalls ?? 0) + (number(usage['toolCalls']) ?? 0),
  };
}

function costOf(event: ProjectedEvent): number | undefined {
  return number(event.data['costUsd']) ?? number(members(event.data['usage'])['costUsd']);
}

function isEstimated(event: ProjectedEvent): boolean {
  return members(event.data['usage'])['estimated'] !== undefined;
}

function failureOf(event: ProjectedEvent): Failure | undefined {
  const failure = members(event.data['failure']);
  return typeof failure['reason'] === 'string' ? (failure as Failure) : undefined;
}

function nameOf(value: unknown): string | undefined {
  return text(value) ?? text(members(value)['name']);
}

function members(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Drops undefined members, so that a row is the same before and after its trip through JSON. */
function compact<T extends object>(row: T): T {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as T;
}
