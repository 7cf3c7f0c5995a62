import { CaissonError } from '@caisson/protocol';

/** The state cannot be stored in its folder. */
export class StateFolderError extends CaissonError {
  readonly code = 'STATE_UNWRITABLE';

  constructor(stateDir: string, cause: NodeJS.ErrnoException) {
    const isFull = cause.code === 'ENOSPC' || cause.code === 'EDQUOT';
    super(`the state folder ${stateDir} cannot be written: ${cause.message}.`, {
      cause,
      remedy: isFull
        ? 'Free some space on that disk, or point --state-dir at another folder.'
        : 'Make it a folder that this user may write, or point --state-dir at another one.',
    });
  }
}

/** There is no state folder, and this caller makes none: nothing has happened in the project yet. */
export class NoStateError extends CaissonError {
  readonly code = 'NO_STATE';

  constructor(stateDir: string) {
    super(`this project has no runs yet: there is no ${stateDir}.`, {
      remedy: 'Begin with caisson run "…".',
    });
  }
}

/** A state folder could be made, but not the marker outside that names its owner. */
export class StateMarkerError extends CaissonError {
  readonly code = 'STATE_UNWRITABLE';

  constructor(stateDir: string, markers: string, cause: NodeJS.ErrnoException) {
    super(`the state folder ${stateDir} cannot be registered as ours in ${markers}: ${cause.message}.`, {
      cause,
      remedy: `${MARKER_REMEDIES[cause.code ?? ''] ?? ''}Set XDG_STATE_HOME to a folder of this user that can be written and that is kept.`,
    });
  }
}

const MARKER_REMEDIES: Readonly<Record<string, string>> = {
  EIO: 'Check the disk. ',
  ENOSPC: 'Free some space on that disk. ',
  EDQUOT: 'Free some space on that disk. ',
};

/** Why a state folder is not opened. */
export type StateRefusal =
  | 'link'
  | 'parent'
  | 'owner'
  | 'writable'
  | 'tracked'
  | 'not-ours'
  | 'foreign-ledger'
  | 'adoptable';

/** The state folder is not ours, or may not be. Nothing in it was used. */
export class StateFolderRefused extends CaissonError {
  /** `TRUST_REQUIRED` when `caisson trust` makes it ours. */
  readonly code: 'STATE_REFUSED' | 'TRUST_REQUIRED';
  readonly reason: StateRefusal;

  constructor(reason: StateRefusal, detail: string, remedy: string) {
    super(detail, { remedy });
    this.reason = reason;
    this.code = reason === 'adoptable' ? 'TRUST_REQUIRED' : 'STATE_REFUSED';
  }
}
