import { CaissonError, definedOnly } from '@caisson/protocol';

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

/** The agent that signs cannot be used now. Nothing is signed with another key instead. */
export class SignerUnusableError extends CaissonError {
  readonly code = 'SIGNER_UNUSABLE';
  override readonly retryable = true;

  constructor(socket: string, detail: string, cause?: Error) {
    super(`the ssh-agent at ${socket} (keys.signer) cannot sign: ${detail}`, {
      ...definedOnly({ cause }),
      remedy:
        'Start or unlock it (ssh-add -l shows its keys), then seal what ended in the meantime: caisson seal --all',
    });
  }
}

/** It is not clear which key of the agent is meant. */
export class KeyChoiceError extends CaissonError {
  readonly code = 'KEY_CHOICE';

  constructor(message: string, found: readonly { readonly fingerprint: string; readonly comment: string }[]) {
    const list = found.map(({ fingerprint, comment }) => `${fingerprint} (${comment})`).join(', ');
    super(`${message}; it has ${list}`, {
      remedy: 'Set keys.identity to the fingerprint or the comment of the one that signs.',
    });
  }
}

/** The agent offers another key than the one that signed before. */
export class KeyChangedError extends CaissonError {
  readonly code = 'KEY_CHANGED';

  constructor(
    socket: string,
    { fingerprint, comment }: { readonly fingerprint: string; readonly comment: string },
  ) {
    super(
      `the agent at ${socket} holds another key than the one that signed before: ${fingerprint} (${comment})`,
      {
        remedy: `If that is intended, set keys.identity to ${fingerprint}; then seal what ended in the meantime: caisson seal --all`,
      },
    );
  }
}

/** The parts of the seal contradict each other; nothing was signed. */
export class SealRefusedError extends CaissonError {
  readonly code = 'SEAL_REFUSED';
}

/** Nothing shows that the ending was recorded in this state folder: only who names the run gets it sealed. */
export class UnmarkedEndingError extends SealRefusedError {}

/** The run has no seal, so another person could check nothing. */
export class NotSealedError extends CaissonError {
  readonly code = 'UNSEALED';
}

/** Something is not what was signed or recorded. */
export class TamperedError extends CaissonError {
  readonly code = 'TAMPERED';
}

/** Something that was signed is missing or cannot be read; nothing that is here contradicts it. */
export class IncompleteError extends CaissonError {
  readonly code = 'INCOMPLETE';
}

/** A run has ended and could not be sealed; it can be later. */
export class UnsealedError extends CaissonError {
  readonly code = 'UNSEALED';

  constructor(runId: string, cause: Error) {
    const known = cause instanceof CaissonError ? cause.remedy : undefined;
    const remedy = known ?? `Seal it once that is fixed: caisson seal ${runId}`;
    super(`${runId} is not sealed: ${cause.message}. ${remedy}`, { cause, remedy });
  }
}

/** Several runs could not be sealed; the others were. */
export class UnsealedRunsError extends CaissonError {
  readonly code: 'TAMPERED' | 'UNSEALED';

  constructor(sealed: readonly string[], errors: readonly Error[]) {
    const reasons = errors.map(({ message }) => message).join('; ');
    super(`${sealed.length} runs were sealed, ${errors.length} could not be: ${reasons}`, {
      cause: errors[0],
    });
    this.code = errors.some((error) => error instanceof TamperedError) ? 'TAMPERED' : 'UNSEALED';
  }
}

/** A piece of evidence is not readable as what it should be. */
export class EvidenceMalformedError extends CaissonError {
  readonly code = 'EVIDENCE_MALFORMED';
}
