import type { Failure, FailureCause, FailureReason } from '@caisson/protocol';
import { explainError } from '@caisson/ground';
import { CaissonError } from '@caisson/protocol';
import { StoppedError } from './stop-order.ts';

/** A step of the attempt failed; carries the failure as it will be told. */
export class StepFailure extends CaissonError {
  readonly code = 'STEP_FAILED';
  readonly failure: Failure;

  constructor(failure: Failure, options: { cause?: unknown } = {}) {
    super(failure.detail, options);
    this.failure = failure;
  }
}

/** Runs one of the fourteen steps; whatever it throws, but an order to stop, becomes a failure attributed to that step. */
export async function inStep<T>(step: number, reason: FailureReason, work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw attributed(error, step, reason);
  }
}

/** Makes a failure that a step throws on purpose. */
export function fail(
  reason: FailureReason,
  detail: string,
  extra: { cause?: FailureCause; step?: number } = {},
): StepFailure {
  return new StepFailure({ reason, detail, ...extra });
}

/** What was thrown, in words for the user. Only a bug of ours needs the place where it happened. */
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
