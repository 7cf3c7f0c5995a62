/** What a worker is asked to do, and how its answer gets back. Each work is settled exactly once (RE3). */
import type { GuestFailure, ResidentEnding, ResidentLine } from '@caisson/protocol';
import type { ComputeOutcome, NotBegun, ResidentWork, TurnOutcome } from './contract.ts';
import { describeEnding } from './describe-problems.ts';

type OrderOf<K extends ResidentWork['kind']> = Omit<Extract<ResidentWork, { kind: K }>, 'kind' | 'id'>;
export type ComputeOrder = OrderOf<'compute'>;
export type TurnOrder = OrderOf<'turn'>;
export type StepLine = Extract<ResidentLine, { kind: 'step' | 'worked' }>;

interface ComputeWork {
  readonly kind: 'compute';
  readonly order: ComputeOrder;
  /** How often a worker ended before it answered: by itself, and because its host wanted so. */
  crashes: number;
  stops: number;
  settle(outcome: ComputeOutcome): void;
}

interface TurnWork {
  readonly kind: 'turn';
  readonly order: TurnOrder;
  onStep(step: StepLine): void;
  settle(outcome: TurnOutcome): void;
}

export type Work = ComputeWork | TurnWork;

/** A compute that makes its host end the worker (it replaces a file of credentials) must not go on for ever. */
const MAX_STOPS = 10;

/**
 * An interrupted compute is repeated once; ends that its host wanted are not counted as its own. A turn is repeated by its
 * thread, from its recorded steps.
 */
export function isRepeated(work: Work, { why }: ResidentEnding): boolean {
  if (work.kind === 'turn') return false;
  if (why === 'stopped') return (work.stops += 1) < MAX_STOPS;
  return (work.crashes += 1) === 1;
}

/** Why work has no outcome; `dropped` if no worker has begun it. */
export interface Refusal {
  readonly failure: GuestFailure;
  readonly dropped?: NotBegun;
}

/** No drop: the next host delivers again what this one does not. */
export const STOPPING: Refusal = { failure: { kind: 'crashed', detail: 'residents are stopped' } };
export const WITHDRAWN: Refusal = {
  failure: { kind: 'invalid', detail: 'it is no longer configured' },
  dropped: 'withdrawn',
};

/** A turn that nobody gave up fails as `crashed`, also without a worker: its thread decides what that means. */
export function failWork(work: Work, refusal: Refusal): void {
  if (work.kind === 'compute') return work.settle({ durationMs: 0, signals: [], ...refusal });
  const { failure } = refusal;
  const kind = failure.kind === 'aborted' ? 'aborted' : 'crashed';
  work.settle({ kind: 'failed', failure: { ...failure, kind } });
}

/** Its worker ended, and it is not sent again. */
export function loseWork(work: Work, ending: ResidentEnding): void {
  if (work.kind === 'turn' && ending.why === 'stopped') work.settle({ kind: 'interrupted' });
  else failWork(work, { failure: { kind: 'crashed', detail: describeEnding(ending) } });
}

/** The order for one worker. */
export function composeOrder(work: Work, id: string): ResidentWork {
  return work.kind === 'compute'
    ? { kind: 'compute', id, ...work.order }
    : { kind: 'turn', id, ...work.order };
}
