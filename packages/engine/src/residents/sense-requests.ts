/** Requests for computes of one sense that wait: what comes together becomes one compute. */
import type { Cause, ComputeCause } from '@caisson/protocol';
import type { ComputeOutcome, SenseTrigger } from './contract.ts';

export interface ComputeRequest {
  readonly cause: ComputeCause;
  /** Signals that led to it. */
  readonly causes: readonly Cause[];
  settle(outcome: ComputeOutcome): void;
}

/** One compute, for one or several requests. */
export interface PlannedCompute {
  cause: ComputeCause;
  causes: readonly Cause[];
  readonly settles: ((outcome: ComputeOutcome) => void)[];
}

/** A person who asks for so many computes at once gets one for the rest. */
const MAX_WAITING = 1000;
const MAX_PATHS = 256;
/** A later one gives way: the chain of a signal must not be lost. */
const ORDER = ['signal', 'run', 'files', 'user', 'interval'];

/**
 * Requests of the sense's own triggers become one. A request of a person is a compute of its own, unless the sense has a
 * throttle.
 */
export function addRequest(waiting: PlannedCompute[], request: ComputeRequest, isThrottled: boolean): void {
  const { cause, causes, settle } = request;
  const isOwn = cause.kind === 'user' && !isThrottled && waiting.length < MAX_WAITING;
  const planned = isOwn
    ? undefined
    : waiting.find((other) => isThrottled || waiting.length >= MAX_WAITING || other.cause.kind !== 'user');
  if (planned === undefined) return void waiting.push({ cause, causes, settles: [settle] });
  planned.settles.push(settle);
  if (ORDER.indexOf(cause.kind) > ORDER.indexOf(planned.cause.kind)) return;
  planned.cause = mergeFiles(planned.cause, cause);
  planned.causes = causes;
}

function mergeFiles(one: ComputeCause, other: ComputeCause): ComputeCause {
  if (one.kind !== 'files' || other.kind !== 'files') return other;
  return { kind: 'files', paths: [...new Set([...one.paths, ...other.paths])].slice(0, MAX_PATHS) };
}

export function describeTrigger(trigger: SenseTrigger): string {
  if (trigger.kind === 'signal') return `signal ${trigger.name}`;
  return trigger.kind === 'files' ? `files ${trigger.pattern}` : `runs ${trigger.statuses.join(', ')}`;
}
