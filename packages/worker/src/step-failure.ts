import type { Failure, FailureCause, FailureReason } from '@caisson/protocol';
import { CaissonError } from '@caisson/protocol';

/** A step of the attempt failed; carries the failure as it will be told. */
export class StepFailure extends CaissonError {
  readonly code = 'STEP_FAILED';
  readonly failure: Failure;

  constructor(failure: Failure, options: { cause?: unknown } = {}) {
    super(failure.detail, options);
    this.failure = failure;
  }
}

/** Runs one of the fourteen steps; whatever it throws becomes a failure attributed to that step. */
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

function attributed(error: unknown, step: number, reason: FailureReason): StepFailure {
  if (error instanceof StepFailure) {
    return error.failure.step === undefined
      ? new StepFailure({ ...error.failure, step }, { cause: error })
      : error;
  }
  const detail = error instanceof Error ? error.message : String(error);
  return new StepFailure({ reason, detail: detail.slice(0, 8000), step }, { cause: error });
}
