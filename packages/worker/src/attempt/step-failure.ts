import { explainError } from '@caisson/ground';
import {
  CaissonError,
  STEPS,
  type Failure,
  type FailureCause,
  type FailureReason,
  type StepName,
} from '@caisson/protocol';
import { StoppedError } from './stop-order.ts';

/** A step of the attempt failed; carries the failure to report. */
export class StepFailure extends CaissonError {
  readonly code = 'STEP_FAILED';
  readonly failure: Failure;

  constructor(failure: Failure, options: { cause?: unknown } = {}) {
    super(failure.detail, options);
    this.failure = failure;
  }
}

/** Runs one of the fourteen steps; anything it throws, except an order to stop, becomes a failure of that step. */
export async function inStep<T>(
  step: StepName,
  reason: FailureReason,
  work: () => Promise<T> | T,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw attributed(error, STEPS[step], reason);
  }
}

/** Makes a failure that a step throws on purpose. */
export function fail(
  reason: FailureReason,
  detail: string,
  { step, ...extra }: { cause?: FailureCause; step?: StepName } = {},
): StepFailure {
  return new StepFailure({ reason, detail, ...extra, ...(step === undefined ? {} : { step: STEPS[step] }) });
}

/** The error in words for the user. Only our own bugs need the place where they happened. */
export function describeThrown(error: unknown): string {
  if (error instanceof CaissonError || !(error instanceof Error)) return explainError(error);
  const isBug = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  const place = isBug && !('code' in error) ? /^\s+at .*$/m.exec(error.stack ?? '')?.[0].trim() : undefined;
  return place === undefined ? explainError(error) : `${error.message} (${place})`;
}

function attributed(error: unknown, step: number, reason: FailureReason): StepFailure | StoppedError {
  if (error instanceof StoppedError) return error;
  if (error instanceof StepFailure) {
    return error.failure.step === undefined
      ? new StepFailure({ ...error.failure, step }, { cause: error })
      : error;
  }
  return new StepFailure({ reason, detail: describeThrown(error).slice(0, 8000), step }, { cause: error });
}
