import { CaissonError } from '@caisson/protocol';

/** The worker could not be started. Another attempt may work. */
export class WorkerStartError extends CaissonError {
  readonly code = 'WORKER_START_FAILED';
  override readonly retryable = true;
}

/** A worker without a host could not be taken over. */
export class WorkerUnreachableError extends CaissonError {
  readonly code = 'WORKER_UNREACHABLE';
}
