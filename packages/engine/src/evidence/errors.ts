import { CaissonError } from '@caisson/protocol';

/** A key file cannot be used: malformed, of another kind, or readable by others. */
export class KeyInvalidError extends CaissonError {
  readonly code = 'KEY_INVALID';
}

/** The folder of the keys cannot be read or written. */
export class KeyFolderError extends CaissonError {
  readonly code = 'KEYS_UNUSABLE';

  constructor(folder: string, cause: Error) {
    super(`the folder of your keys, ${folder}, cannot be used: ${cause.message}.`, {
      cause,
      remedy: 'Set HOME or XDG_DATA_HOME to a folder that this user may write.',
    });
  }
}

/** No key with that id is known here. */
export class KeyUnknownError extends CaissonError {
  readonly code = 'KEY_UNKNOWN';
}

/** What was to be sealed does not hold together; nothing was signed. */
export class SealRefusedError extends CaissonError {
  readonly code = 'SEAL_REFUSED';
}

/** The run has no seal, so there is nothing that a stranger could check. */
export class NotSealedError extends CaissonError {
  readonly code = 'NOT_SEALED';
}

/** A piece of evidence is not readable as what it should be. */
export class EvidenceMalformedError extends CaissonError {
  readonly code = 'EVIDENCE_MALFORMED';
}
