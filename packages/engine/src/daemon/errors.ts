import { CaissonError, type DaemonIdentity } from '@caisson/protocol';

/** Another process serves the project. */
export class DaemonRunsError extends CaissonError {
  readonly code = 'DAEMON_RUNS';
}

/** The daemon of this state folder serves another project, or this one where it was before. */
export class OtherProjectError extends CaissonError {
  readonly code = 'OTHER_PROJECT';

  /** `isThere`: the place that it serves still exists. */
  constructor(here: string, served: string, isThere: boolean) {
    super(
      isThere
        ? `${here} belongs to another project than ${served}, which the daemon of this state folder serves`
        : `the daemon of this state folder serves ${served}, which is not there any more, and not ${here}`,
      {
        remedy: isThere
          ? 'Each project has a state folder of its own: name another one with --state-dir.'
          : 'If the project was moved, serve it where it is now: caisson up -d --replace.',
      },
    );
  }
}

/** The daemon ends, and accepts nothing any more. */
export class DaemonStoppingError extends CaissonError {
  readonly code = 'DAEMON_STOPPING';
  override readonly retryable = true;

  constructor() {
    super('the daemon of this project is going down and accepts nothing more', {
      remedy: 'Start it again when it is gone (caisson up -d), or run without it: --no-daemon.',
    });
  }
}

/** There is a daemon, and it does not answer. */
export class DaemonSilentError extends CaissonError {
  readonly code = 'DAEMON_SILENT';
  override readonly retryable = true;
}

/** The daemon answered with an error. */
export class DaemonRefusedError extends CaissonError {
  readonly code: string;

  constructor(code: string, message: string, options: { remedy?: string } = {}) {
    super(message, options);
    this.code = code;
  }
}

export interface SaidRuns {
  readonly running?: number | undefined;
  readonly queued?: number | undefined;
  readonly adoptionVersion?: number | undefined;
}

/** The daemon's answer has a form that this version does not know. */
export class OtherDaemonError extends CaissonError {
  readonly code = 'DAEMON_VERSION';

  readonly identity: DaemonIdentity | null;
  /** What it says about its runs, as far as that can be read. */
  readonly runs: SaidRuns;

  constructor(identity: DaemonIdentity | null, runs: SaidRuns = {}) {
    const who =
      identity === null ? 'has another version' : `has another version (${describeDaemon(identity)})`;
    super(`the daemon of this project ${who}, whose answer this one does not understand`, {
      remedy:
        'Replace it: caisson up -d --replace; its running agents go on. Or use the version that started it.',
    });
    this.identity = identity;
    this.runs = runs;
  }
}

/** This version cannot take over what the daemon has. */
export class DaemonNotReplacedError extends CaissonError {
  readonly code = 'DAEMON_NOT_REPLACED';
}

/** The ledger has to be brought to a newer form, and a daemon of another version writes it. */
export class LedgerInUseError extends CaissonError {
  readonly code = 'LEDGER_IN_USE';
  readonly daemon: DaemonIdentity;

  constructor(file: string, daemon: DaemonIdentity) {
    super(
      `${file} has the form of an earlier version, whose daemon still writes it (${describeDaemon(daemon)}); it was not changed`,
      {
        remedy:
          'Replace the daemon: caisson up -d --replace; its running agents go on. Or end it first: caisson down.',
      },
    );
    this.daemon = daemon;
  }
}

/** A daemon that was started ended before it served. */
export class DaemonStartError extends CaissonError {
  readonly code = 'DAEMON_START_FAILED';
}

/** Nothing serves the project. */
export class NoDaemonError extends CaissonError {
  readonly code = 'NO_DAEMON';
}

export function describeDaemon({ pid, version, startedAt }: DaemonIdentity): string {
  return `pid ${pid}, version ${version}, since ${startedAt}`;
}
