import { explainError } from '@caisson/ground';
import { CaissonError } from '@caisson/protocol';

export { TaskRefusedError } from '../platform/index.ts';

const NAMED = 3;

/** The id matches several runs, so none is used. */
export class RunAmbiguousError extends CaissonError {
  readonly code = 'RUN_AMBIGUOUS';

  /** `maxCounted`: if there are so many, there may be more. */
  constructor(given: string, runIds: readonly string[], maxCounted = Infinity) {
    const more = runIds.length > NAMED ? ', …' : '';
    const count = runIds.length < maxCounted ? runIds.length : `${maxCounted} or more`;
    super(`${given} could be ${count} runs: ${runIds.slice(0, NAMED).join(', ')}${more}`, {
      remedy: 'Give more of the id.',
    });
  }
}

/** There is no run of that name. */
export class RunNotFoundError extends CaissonError {
  readonly code = 'RUN_NOT_FOUND';

  constructor(runId: string) {
    super(runId === 'latest' ? 'this project has no runs yet' : `there is no run ${runId}`, {
      remedy:
        runId === 'latest'
          ? 'Start one: caisson run. What happens from now on shows caisson logs --all -f.'
          : runId.startsWith('thread_')
            ? `That is a thread: caisson threads show ${runId}`
            : 'caisson runs lists the runs of this project.',
    });
  }
}

/** The run is over and its ending could not be recorded; the next process that opens the project settles it. */
export class RunUnsettledError extends CaissonError {
  readonly code = 'RUN_UNSETTLED';
  override readonly retryable = true;

  constructor(runId: string, cause: unknown) {
    super(`${runId} is over and could not be settled: ${explainError(cause)}`, {
      cause,
      remedy: 'Its work is kept. The next caisson command settles it once that problem is gone.',
    });
  }
}

/** This host has left the run to the next daemon; its agent goes on. */
export class RunLeftError extends CaissonError {
  readonly code = 'RUN_LEFT';
  override readonly retryable = true;

  constructor(runId: string) {
    super(`${runId} goes on without this daemon`, {
      remedy: `The next daemon has it: caisson up -d, then caisson logs -f ${runId}.`,
    });
  }
}
