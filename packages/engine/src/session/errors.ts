import { CaissonError } from '@caisson/protocol';

/** The name is not valid for a session. */
export class SessionNameError extends CaissonError {
  readonly code = 'SESSION_NAME';
}
