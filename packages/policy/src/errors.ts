import { CaissonError } from '@caisson/protocol';

/** A mode that does not exist was named. It is never read as a weaker or stronger one. */
export class UnknownModeError extends CaissonError {
  readonly code = 'UNKNOWN_MODE';
}
