import { CaissonError } from '@caisson/protocol';

/** A workspace could not be made, saved or changed; the project is as it was. */
export class WorkspaceError extends CaissonError {
  readonly code = 'WORKSPACE_FAILED';
}

/** A run works in place in the folder to change. It may be over soon. */
export class FolderInUseError extends CaissonError {
  readonly code = 'FOLDER_IN_USE';
  override readonly retryable = true;

  constructor(folder: string, holder: string | null) {
    super(
      `${folder} is in use by ${holder ?? 'another process'}, which works in place; nothing was changed.`,
      {
        remedy: 'Wait until it has ended (caisson runs shows it), and apply again.',
      },
    );
  }
}
