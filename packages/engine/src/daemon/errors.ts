import { CaissonError, type DaemonIdentity } from '@caisson/protocol';

/** Another process serves the project. */
export class DaemonRunsError extends CaissonError {
  readonly code = 'DAEMON_RUNS';
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
