import { CaissonError } from '@caisson/protocol';

/** The sandbox cannot be built on this machine. */
export class SandboxUnavailableError extends CaissonError {
  readonly code = 'SANDBOX_UNAVAILABLE';
}

/** The sandbox was described in a way that no mount table can express. */
export class SandboxSpecError extends CaissonError {
  readonly code = 'SANDBOX_SPEC_INVALID';
}

/** bubblewrap could not be started, or ended before the program inside could run. */
export class SandboxStartError extends CaissonError {
  readonly code = 'SANDBOX_START_FAILED';
  override readonly retryable = true;
}
