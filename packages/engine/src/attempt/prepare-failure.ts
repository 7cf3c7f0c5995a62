import { explainError } from '@caisson/ground';
import { definedOnly, STEPS, type Failure, type FailureReason, type StepName } from '@caisson/protocol';
import { InvalidEventError } from '../ledger/index.ts';

/** A stage before the worker failed; carries the failure of the run. */
export class PrepareFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options: { cause?: unknown } = {}) {
    super(failure.detail, options);
    this.name = 'PrepareFailure';
    this.failure = failure;
  }
}

/** What fails in this work is a failure of the run, for that reason and in that step. */
export async function failingAs<const T>(
  reason: FailureReason,
  step: StepName | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PrepareFailure || error instanceof InvalidEventError) throw error;
    throw new PrepareFailure(
      definedOnly({ reason, detail: explainError(error).slice(0, 8000), step: step && STEPS[step] }),
      { cause: error },
    );
  }
}
