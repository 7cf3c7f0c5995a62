import { CaissonError } from '@caisson/protocol';

/** A workspace could not be made, saved or changed; the project is as it was. */
export class WorkspaceError extends CaissonError {
  readonly code = 'WORKSPACE_FAILED';
}
