/** Requests for computes of one sense that wait: what comes together becomes one compute. */
import { MAX_COVERED, type Cause, type ComputeCause } from '@caisson/protocol';
import type { ComputeOutcome, SenseTrigger } from './contract.ts';

export interface ComputeRequest {
  readonly cause: ComputeCause;
  /** Signals that led to it. */
  readonly causes: readonly Cause[];
  /** Of the compute that it would be alone, where a later host may ask for it again. */
  readonly computeId: string | null;
  settle(outcome: ComputeOutcome): void;
}

/** One compute, for one or several requests. */
export interface PlannedCompute {
  cause: ComputeCause;
  causes: readonly Cause[];
  /** Computes that it makes unnecessary, its own included. */
  covers: readonly string[];
  readonly settles: ((outcome: ComputeOutcome) => void)[];
}

/** A person who asks for so many computes at once gets one for the rest. */
const MAX_WAITING = 1000;
const MAX_PATHS = 256;
/** Joined causes are no chain, so that they must leave room below the limit of its depth. */
const MAX_JOINED_CAUSES = 8;
/** A later one gives way: the chain of a signal must not be lost. */
const ORDER = ['signal', 'run', 'files', 'user', 'interval'];

/**
 * Requests of the sense's own triggers become one. A request of a person is a compute of its own, unless the sense has a
 * throttle.
 */
export function addRequest(waiting: PlannedCompute[], request: ComputeRequest, isThrottled: boolean): void {
  const { cause, causes, computeId, settle } = request;
  const covers = computeId === null ? [] : [computeId];
  const isOwn = cause.kind === 'user' && !isThrottled && waiting.length < MAX_WAITING;
  const planned = isOwn
    ? undefined
    : waiting.find((other) => isThrottled || waiting.length >= MAX_WAITING || other.cause.kind !== 'user');
  if (planned === undefined) return void waiting.push({ cause, causes, covers, settles: [settle] });
  planned.settles.push(settle);
  planned.covers = [...planned.covers, ...covers].slice(-MAX_COVERED);
  const isLater = ORDER.indexOf(cause.kind) <= ORDER.indexOf(planned.cause.kind);
  planned.causes = isLater ? joinCauses(planned.causes, causes) : joinCauses(causes, planned.causes);
  if (isLater) planned.cause = mergeFiles(planned.cause, cause);
}

/** The chain of the newest is whole; of the others, what a loop is found by: each signal of each sense once. */
function joinCauses(others: readonly Cause[], newest: readonly Cause[]): readonly Cause[] {
  const isSame = (one: Cause, other: Cause): boolean => one.name === other.name && one.sense === other.sense;
  const more = others.filter(
    (cause, index) =>
      !newest.some((other) => isSame(cause, other)) &&
      others.findLastIndex((other) => isSame(cause, other)) === index,
  );
  const room = Math.max(0, MAX_JOINED_CAUSES - newest.length);
  return room === 0 ? newest : [...more.slice(-room), ...newest];
}

function mergeFiles(one: ComputeCause, other: ComputeCause): ComputeCause {
  if (one.kind !== 'files' || other.kind !== 'files') return other;
  return { kind: 'files', paths: [...new Set([...one.paths, ...other.paths])].slice(0, MAX_PATHS) };
}

export function describeTrigger(trigger: SenseTrigger): string {
  if (trigger.kind === 'signal') return `signal ${trigger.name}`;
  return trigger.kind === 'files' ? `files ${trigger.pattern}` : `runs ${trigger.statuses.join(', ')}`;
}
