// The life of a run, as the ledger enforces it (invariant 1).
//
//   nothing ──dispatch.accepted──► queued ──attempt.launched──► running ──dispatch.started──► running
//                                    ▲                             │
//                                    └───────attempt.ended─────────┘
//   queued | running ──dispatch.finished | needs_input | failed | cancelled──► ended, for good
//
// T1 a run is accepted exactly once, and nothing of its life comes before that.
// T2 a run ends exactly once, and nothing of its life comes after that; other facts (a callback was delivered) may.
// T3 attempts only go up: each is launched, started and ended at most once, and an older one can no longer report.
// T4 a run that lives is adopted by one host after the other: each has the next epoch.
// T5 a question is asked once and closed once; it may be answered after the run has ended. A thread asks while it lives.
//
// The life of a thread (T6) is in `thread-transitions.ts`.

import {
  FIRST_EPOCH,
  isTerminal,
  knownTypeOf,
  recordedTypeOf,
  type EventContent,
  type UnknownContent,
} from '@caisson/protocol';
import { IdempotencyKeyTakenError, IllegalTransitionError } from './errors.ts';
import type { LedgerView, RunState } from './ledger-view.ts';
import { isThreadStream } from './project-threads.ts';
import { checkThread, demandLivingThread } from './thread-transitions.ts';

export type Move = { readonly runId: string | null; readonly attempt: number } & (
  | EventContent
  | UnknownContent
);

/** Throws IllegalTransitionError when the state of the run does not allow this event now. */
export function checkTransition(view: LedgerView, event: Move): void {
  const type = knownTypeOf(event);
  switch (type) {
    case 'dispatch.accepted':
      return checkAccepted(view, event);
    case 'dispatch.started':
    case 'attempt.launched':
    case 'attempt.ended':
      return checkAttempt(view, event, demandLiving(view, event));
    case 'run.adopted':
      return checkAdopted(event, demandLiving(view, event));
    case 'question.asked':
    case 'question.answered':
    case 'question.expired':
      return checkQuestion(view, event);
    case 'thread.accepted':
    case 'thread.started':
    case 'thread.step-started':
    case 'thread.step-ended':
    case 'thread.message':
    case 'thread.ended':
      return checkThread(view, event);
    default:
      if (isTerminal(type)) demandCurrent(event, demandLiving(view, event));
  }
}

function checkAccepted(view: LedgerView, event: Move): void {
  const runId = demandRunId(event);
  if (isThreadStream(runId)) throw refuse(event, 'the stream is that of a thread');
  if (view.run(runId) !== null) throw refuse(event, 'the run was already accepted'); // T1
  const key = event.type === 'dispatch.accepted' ? event.data.idempotencyKey : undefined;
  if (key === undefined) return;
  const earlier = view.runByIdempotencyKey(key);
  if (earlier !== null) throw new IdempotencyKeyTakenError(key, earlier.runId);
}

function checkAdopted(event: Move, { epoch = FIRST_EPOCH }: RunState): void {
  if (event.type !== 'run.adopted' || event.data.epoch === epoch + 1) return;
  throw refuse(event, `the run has epoch ${epoch}, and ${event.data.epoch} does not follow it`); // T4
}

function checkAttempt(view: LedgerView, event: Move, run: RunState): void {
  if (event.attempt < 1) throw refuse(event, 'it must name its attempt, from 1 up');
  demandCurrent(event, run);
  const row = view.attempt(run.runId, event.attempt);
  if (row?.endedAt !== undefined) throw refuse(event, `attempt ${event.attempt} has ended`);
  if (event.type === 'attempt.launched' && row?.launchedAt !== undefined) {
    throw refuse(event, `attempt ${event.attempt} was already launched`);
  }
  if (event.type === 'dispatch.started' && row?.startedAt !== undefined) {
    throw refuse(event, `attempt ${event.attempt} was already started`);
  }
}

function checkQuestion(view: LedgerView, event: Move): void {
  const runId = demandRunId(event);
  demandAsker(view, event, runId);
  const questionId = questionIdOf(event);
  if (questionId === undefined || questionId === '') throw refuse(event, 'it names no questionId');
  const row = view.question(questionId);
  if (event.type === 'question.asked') {
    if (row !== null) throw refuse(event, `question ${questionId} was already asked`);
    return;
  }
  if (row === null || row.runId !== runId)
    throw refuse(event, `question ${questionId} was never asked in this run`);
  if (row.status !== 'open') throw refuse(event, `question ${questionId} is already ${row.status}`); // T5
}

/** A run may have ended: it is asked about afterwards, too. */
function demandAsker(view: LedgerView, event: Move, runId: string): void {
  if (!isThreadStream(runId)) {
    if (view.run(runId) === null) throw refuse(event, 'the run was never accepted');
    return;
  }
  const thread = view.thread(runId);
  if (thread === null) throw refuse(event, 'the thread was never accepted');
  if (event.type === 'question.asked') demandLivingThread(event, thread);
}

function questionIdOf(event: Move): string | undefined {
  switch (event.type) {
    case 'question.asked':
    case 'question.answered':
    case 'question.expired':
      return event.data.questionId;
    default:
      return undefined;
  }
}

function demandRunId(event: Move): string {
  if (event.runId === null) throw refuse(event, 'it needs a run');
  return event.runId;
}

function demandLiving(view: LedgerView, event: Move): RunState {
  const run = view.run(demandRunId(event));
  if (run === null) throw refuse(event, 'the run was never accepted'); // T1
  if (run.ending !== undefined) throw refuse(event, `the run has already ended with ${run.ending}`); // T2
  return run;
}

function demandCurrent(event: Move, run: RunState): void {
  if (event.attempt === 0 || event.attempt >= run.attempt) return;
  throw refuse(event, `attempt ${event.attempt} was followed by attempt ${run.attempt}`); // T3
}

function refuse(event: Move, why: string): IllegalTransitionError {
  return new IllegalTransitionError(event.runId, recordedTypeOf(event), why);
}
