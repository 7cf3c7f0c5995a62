/** Requests for computes of one sense that wait, and which of them become one compute. */
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
  /** Whether a person waits for it. */
  isUrgent: boolean;
}

/** Each of them brings something of its own, which a compute for several would not see. */
const OWN: ReadonlySet<ComputeCause['kind']> = new Set(['user', 'signal', 'run']);
/** A person who asks for so many computes at once gets one for the rest; a signal is dropped. */
const MAX_WAITING = 1000;
const MAX_PATHS = 256;
/** Joined causes are no chain, so that they must leave room below the limit of its depth. */
const MAX_JOINED_CAUSES = 8;
/** A later one gives way: the chain of a signal must not be lost. */
const ORDER = ['signal', 'run', 'files', 'user', 'interval'];

/** With a throttle all requests become one; without, changes of files and intervals do. False: there is no room for it. */
export function addRequest(
  waiting: PlannedCompute[],
  request: ComputeRequest,
  isThrottled: boolean,
): boolean {
  const isFull = waiting.length >= MAX_WAITING;
  const isOwn = !isThrottled && OWN.has(request.cause.kind);
  if (isOwn && isFull && request.cause.kind === 'signal') return false;
  const isJoined = (other: PlannedCompute): boolean => isThrottled || isOwn || !OWN.has(other.cause.kind);
  const planned = isOwn && !isFull ? undefined : waiting.find(isJoined);
  if (planned === undefined) insert(waiting, planOf(request));
  else join(planned, request);
  return true;
}

/** A person does not wait for the signals that came before. */
function insert(waiting: PlannedCompute[], planned: PlannedCompute): void {
  const index = planned.isUrgent ? waiting.findIndex(({ isUrgent }) => !isUrgent) : -1;
  waiting.splice(index === -1 ? waiting.length : index, 0, planned);
}

function planOf({ cause, causes, computeId, settle }: ComputeRequest): PlannedCompute {
  const covers = computeId === null ? [] : [computeId];
  return { cause, causes, covers, settles: [settle], isUrgent: cause.kind === 'user' };
}

function join(planned: PlannedCompute, request: ComputeRequest): void {
  const { cause, causes, covers, settles, isUrgent } = planOf(request);
  planned.settles.push(...settles);
  planned.isUrgent ||= isUrgent;
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
