import { CaissonError } from '@caisson/protocol';

/** A call asks for more than the server, the project or the agent allows. */
export class GrantExceededError extends CaissonError {
  readonly code = 'GRANT_EXCEEDED';
}

/** The run is not one of the session that this server is for. */
export class OtherSessionError extends CaissonError {
  readonly code = 'RUN_NOT_FOUND';

  constructor(runId: string, session: string) {
    super(`${runId} is not a run of the session "${session}", which this server is limited to`, {
      remedy: 'The tool list shows the runs of the session.',
    });
  }
}

/** The work of a run is not applied, and nothing was changed. */
export class NotAppliedError extends CaissonError {
  readonly code = 'NOT_APPLIED';
}
