import { CaissonError } from '@caisson/protocol';

/** The name cannot be that of a session. */
export class SessionNameError extends CaissonError {
  readonly code = 'SESSION_NAME';
}
