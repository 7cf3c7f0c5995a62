/**
 * How much a thread has asked for and recorded in its steps. The host counts: a guest may say anything. It counts what the ledger
 * has, so that the next host counts the same.
 */
import {
  MAX_HISTORY_BYTES,
  MAX_OPEN_QUESTIONS,
  MAX_REQUEST_BYTES,
  MAX_THREAD_BYTES,
  type StepRequest,
} from '@caisson/protocol';
import type { Ledger, RunRecord } from '../ledger/index.ts';
import { sizeOf } from './plan-step.ts';
import type { LoadedStep } from './thread-history.ts';

const TYPES = ['thread.step-started', 'thread.step-ended', 'question.asked'] as const;

type Recorded = Parameters<RunRecord['appendAll']>[0];

export class ThreadBytes {
  readonly #ledger: Ledger;
  readonly #threadId: string;
  /** Requests and outcomes of the present round. The outcomes stay in memory, and a turn begins with them. */
  #round = 0;
  /** Of all rounds, what is in the ledger, the requests of their runs included. Null before the first one. */
  #thread: number | null = null;

  constructor(ledger: Ledger, threadId: string) {
    this.#ledger = ledger;
    this.#threadId = threadId;
  }

  beginRound(loaded: readonly LoadedStep[]): void {
    this.#round = loaded.reduce(
      (sum, { requestBytes = 0, outcome }) => sum + requestBytes + sizeOf(outcome?.value),
      0,
    );
    this.#thread ??= sumRecorded(this.#ledger.read({ runId: this.#threadId, types: TYPES }));
  }

  /** Why it may not ask for this, or null. */
  addRequest(request: StepRequest): string | null {
    const bytes = sizeOf(request);
    const ofRun = request.kind === 'dispatch' ? bytes : 0;
    if ((this.#thread ?? 0) + ofRun > MAX_THREAD_BYTES)
      return `the steps of all its rounds have together more than ${MAX_THREAD_BYTES} bytes: ask for less, or begin another thread`;
    return this.#addToRound(bytes);
  }

  /** Why it remembers too much, or null. */
  addOutcome(value: unknown): string | null {
    return this.#addToRound(sizeOf(value));
  }

  addRecorded(events: Recorded): void {
    this.#thread = (this.#thread ?? 0) + sumRecorded(events);
  }

  #addToRound(bytes: number): string | null {
    this.#round += bytes;
    return this.#round <= MAX_HISTORY_BYTES
      ? null
      : `the steps of one round have together more than ${MAX_HISTORY_BYTES} bytes: remember less`;
  }
}

/** What a role asks for a run is recorded with that run, and belongs to its thread. */
function sumRecorded(events: Recorded): number {
  return events.reduce((sum, { type, data }) => {
    const isRun = type === 'thread.step-started' && data.kind === 'dispatch';
    return sum + sizeOf(data) + (isRun ? (data.requestBytes ?? 0) : 0);
  }, 0);
}

/** Why nobody may ask for this, whatever came before; null otherwise. */
export function findOversized(request: StepRequest): string | null {
  return sizeOf(request) <= MAX_REQUEST_BYTES
    ? null
    : `a request of more than ${MAX_REQUEST_BYTES} bytes is refused`;
}

/** Why a role that has so many open questions may not ask this, or null. */
export function refuseQuestion({ kind }: StepRequest, openQuestions: number): string | null {
  return kind !== 'ask' || openQuestions < MAX_OPEN_QUESTIONS
    ? null
    : `a thread has at most ${MAX_OPEN_QUESTIONS} open questions`;
}
