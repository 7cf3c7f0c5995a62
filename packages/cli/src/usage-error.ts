import { CaissonError } from '@caisson/protocol';

/** The command line cannot be understood; nothing was done. */
export class UsageError extends CaissonError {
  readonly code = 'USAGE';
}
