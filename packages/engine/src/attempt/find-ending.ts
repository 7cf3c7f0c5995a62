/** How an attempt ended. On conflict: valid result file > the order that was given > terminal line > exit status. */
import { endingOfStop, type Ending, type Failure, type ObservedUsage, type Result } from '@caisson/protocol';
import type { WorkerLimits } from '../compute/index.ts';
import type { WorkerEnd } from '../supervision/index.ts';
import type { FoundResult } from './read-result.ts';

/** Messages of programs that could not read an answer. */
const VAGUE: ReadonlySet<Failure['cause']> = new Set<Failure['cause']>(['api-error', 'empty-answer']);
/** What a program says of a stream that ended too early, beside the vague: it does not know whether the connection broke. */
const LOST = 'no-connection';
/** What a program says of an answer that was cut off. */
const CUT: ReadonlySet<Failure['cause']> = new Set<Failure['cause']>([...VAGUE, LOST, 'exit-code']);
/** Messages of programs that got no answer and do not know why. */
const WITHOUT_ANSWER: ReadonlySet<Failure['cause']> = new Set<Failure['cause']>([
  'empty-answer',
  'tool-failure',
]);

export function findEnding(
  found: FoundResult,
  end: WorkerEnd,
  limits: Pick<WorkerLimits, 'events'>,
  seen: SeenEndings | null = null,
): Ending {
  if (end.refusal !== null) return { kind: 'failed', failure: end.refusal };
  if (found.kind === 'valid') return withAnswers(withLimit(endingOfResult(found.result), limits), seen);
  if (end.stopped !== null) return endingOfStop(end.stopped.reason, end.stopped.detail);
  // A worker that could not write its result reports that; only a result proves that it was done.
  if (end.lastWord?.kind === 'dispatch.failed') return { kind: 'failed', failure: end.lastWord.failure };
  if (found.kind === 'refused')
    return { kind: 'failed', failure: { reason: 'output-invalid', detail: found.why } };
  return { kind: 'failed', failure: crashed(end) };
}

/** The ending in a result. */
export function endingOfResult(result: Result): Ending {
  switch (result.status) {
    case 'finished':
      return { kind: 'finished' };
    case 'needs_input':
      return { kind: 'needs_input' };
    case 'cancelled':
      return { kind: 'cancelled', cause: 'user' };
    case 'failed':
      return {
        kind: 'failed',
        failure: result.failure ?? { reason: 'output-invalid', detail: 'failed without a failure' },
      };
  }
}

/** An agent that a limit killed looks like one that failed by itself; the cgroup shows the cause. */
function withLimit(ending: Ending, limits: Pick<WorkerLimits, 'events'>): Ending {
  if (ending.kind !== 'failed' || !canBeLimit(ending.failure)) return ending;
  const events = limits.events();
  if (events.oomKills > 0) {
    return {
      kind: 'failed',
      failure: {
        ...ending.failure,
        cause: 'oom',
        detail: `the memory limit killed a process. ${ending.failure.detail}`,
      },
    };
  }
  if (events.pidsMax > 0) {
    return {
      kind: 'failed',
      failure: {
        ...ending.failure,
        cause: 'pids',
        detail: `the process limit was reached. ${ending.failure.detail}`,
      },
    };
  }
  return ending;
}

/** Also a sandbox that was killed before its program ran, and a setup script. */
function canBeLimit({ reason, step }: Failure): boolean {
  return reason === 'provider-failed' || (reason === 'worker-failed' && (step === 9 || step === 11));
}

/** What the broker saw of the model's answers beside their content. */
export type SeenEndings = Pick<ObservedUsage, 'refusals' | 'lastStop' | 'lastFailure'>;

/**
 * What the broker saw decides. Some programs do not pass on why an answer broke off or why none came, and some call it
 * done: there is no success whose last request to the model failed.
 */
export function withAnswers(ending: Ending, seen: SeenEndings | null): Ending {
  if (seen === null) return ending;
  const { lastFailure } = seen;
  if (lastFailure === null) return withEarlyStop(ending, seen);
  const { cause, detail } = lastFailure;
  if (ending.kind === 'finished')
    return {
      kind: 'failed',
      failure: {
        reason: 'provider-failed',
        cause,
        detail: `${detail}, though the agent said that it is done`,
      },
    };
  if (ending.kind !== 'failed') return ending;
  const { failure } = ending;
  if (failure.cause === LOST && isAnswer(cause))
    return {
      kind: 'failed',
      failure: { ...failure, cause, detail: `${detail}; the agent reported: ${failure.detail}` },
    };
  const isUnsaid = (cause === 'stream-cut' ? CUT : VAGUE).has(failure.cause);
  return isUnsaid ? { kind: 'failed', failure: { ...failure, cause } } : withEarlyStop(ending, seen);
}

/** Whether the API itself said what is wrong: then the connection was there. */
function isAnswer(cause: NonNullable<SeenEndings['lastFailure']>['cause']): boolean {
  return cause !== LOST && cause !== 'stream-cut';
}

const EARLY_STOP = {
  refusal: 'the model began to answer, and refused to continue',
  'max-tokens': 'the last answer was cut at the maximum number of tokens',
} as const;

/** A program may also end silently, or treat the text before an early stop as the answer. */
function withEarlyStop(ending: Ending, { refusals, lastStop }: SeenEndings): Ending {
  const failed = (failure: Failure): Ending => ({ kind: 'failed', failure });
  if (ending.kind === 'finished' && lastStop !== null)
    return failed({ reason: 'provider-failed', cause: lastStop, detail: EARLY_STOP[lastStop] });
  if (ending.kind !== 'failed') return ending;
  const { cause } = ending.failure;
  const isRefused =
    (refusals > 0 && WITHOUT_ANSWER.has(cause)) || (lastStop === 'refusal' && VAGUE.has(cause));
  if (!isRefused) return ending;
  const detail = `the model refused to continue: ${ending.failure.detail}`;
  return failed({ ...ending.failure, cause: 'refusal', detail });
}

function crashed(end: WorkerEnd): Failure {
  const how = end.signal === null ? `exited with ${end.code ?? 'no code'}` : `was killed by ${end.signal}`;
  const said = end.stderrTail.trim();
  return {
    reason: 'crashed',
    detail: `the worker ${how} without a result${said === '' ? '' : `: ${said.slice(-2000)}`}`,
  };
}
