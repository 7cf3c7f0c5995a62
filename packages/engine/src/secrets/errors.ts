import { CaissonError } from '@caisson/protocol';

/** A secret could not be fetched. Another attempt may work. */
export class SecretUnavailableError extends CaissonError {
  readonly code = 'SECRET_UNAVAILABLE';
  override readonly retryable = true;
}
