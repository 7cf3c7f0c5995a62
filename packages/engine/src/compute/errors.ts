import { CaissonError } from '@caisson/protocol';

/** The worker could not be started. Another attempt may work. */
export class WorkerStartError extends CaissonError {
  readonly code = 'WORKER_START_FAILED';
  override readonly retryable = true;
}
