// The life of a thread, as the ledger enforces it. A thread has a stream of its own, under its own id.
//
//   nothing ──thread.accepted──► queued ──thread.started──► running ◄──steps, messages──► waiting
//   queued | running | waiting ──thread.ended──► ended, for good
//
// T6 a thread is accepted once and started at most once after that; its messages have the rounds 0, 1, 2, …; the steps of
//    a round start in any order, each once, and end at most once; it ends once, and nothing of its life comes after that.

import { knownTypeOf, recordedTypeOf, type ThreadRow } from '@caisson/protocol';
import { IllegalTransitionError } from './errors.ts';
import type { LedgerView } from './ledger-view.ts';
import { isThreadStream } from './project-threads.ts';
import type { Move } from './transitions.ts';

/** Throws IllegalTransitionError when the state of the thread does not allow this event now. */
export function checkThread(view: LedgerView, event: Move): void {
  if (!isThreadStream(event.runId)) throw refuse(event, 'it needs a thread');
  const row = view.thread(event.runId);
  if (knownTypeOf(event) === 'thread.accepted') {
    if (row !== null) throw refuse(event, 'the thread was already accepted');
    return;
  }
  if (row === null) throw refuse(event, 'the thread was never accepted');
  demandLivingThread(event, row);
  checkProgress(event, row);
}

/** Throws unless the thread has not ended. */
export function demandLivingThread(event: Move, row: ThreadRow): void {
  if (row.endedAt !== undefined) throw refuse(event, `the thread has already ended as ${row.status}`);
}

function checkProgress(event: Move, row: ThreadRow): void {
  const type = knownTypeOf(event);
  if (type === 'thread.ended') return;
  if (type === 'thread.started') {
    if (row.startedAt !== undefined) throw refuse(event, 'the thread was already started');
    return;
  }
  if (row.startedAt === undefined) throw refuse(event, 'the thread was not started');
  const round = roundOf(event);
  if (round !== undefined && round !== row.rounds)
    throw refuse(event, `the thread is in round ${row.rounds}, not ${round}`);
  if (event.type === 'thread.step-started' && hasStarted(row, event.data.ordinal))
    throw refuse(event, `step ${event.data.ordinal} was already started`);
  if (event.type === 'thread.step-ended' && !isOpen(row, event.data.ordinal))
    throw refuse(event, `step ${event.data.ordinal} is not under way`);
}

function roundOf(event: Move): number | undefined {
  switch (event.type) {
    case 'thread.step-started':
    case 'thread.step-ended':
    case 'thread.message':
      return event.data.round;
    default:
      return undefined;
  }
}

function hasStarted({ lastStep = -1, skippedSteps = [] }: ThreadRow, ordinal: number): boolean {
  return ordinal <= lastStep && !skippedSteps.includes(ordinal);
}

function isOpen(row: ThreadRow, ordinal: number): boolean {
  return row.waitsFor?.some((step) => step.ordinal === ordinal) === true;
}

function refuse(event: Move, why: string): IllegalTransitionError {
  return new IllegalTransitionError(event.runId, recordedTypeOf(event), why);
}
