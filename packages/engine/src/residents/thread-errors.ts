import { CaissonError } from '@caisson/protocol';

/** The thread cannot be started as it was asked for. */
export class ThreadRefusedError extends CaissonError {
  readonly code = 'THREAD_REFUSED';
}
