import type { Failure } from '@caisson/protocol';

/** A stage before the worker failed; carries the failure of the run. */
export class PrepareFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options: { cause?: unknown } = {}) {
    super(failure.detail, options);
    this.name = 'PrepareFailure';
    this.failure = failure;
  }
}
