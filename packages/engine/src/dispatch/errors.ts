import { CaissonError } from '@caisson/protocol';
import type { Refusal } from './contract.ts';

/** Admission said no; there is no run. */
export class TaskRefusedError extends CaissonError {
  readonly code = 'TASK_REFUSED';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(
      `${refusal.detail} (check: ${refusal.check})`,
      refusal.remedy === undefined ? {} : { remedy: refusal.remedy },
    );
    this.refusal = refusal;
  }
}

const NAMED = 3;

/** Several runs could be meant, so none is touched. */
export class RunAmbiguousError extends CaissonError {
  readonly code = 'RUN_AMBIGUOUS';

  constructor(given: string, runIds: readonly string[]) {
    const more = runIds.length > NAMED ? ', …' : '';
    super(`${given} could be ${runIds.length} runs: ${runIds.slice(0, NAMED).join(', ')}${more}`, {
      remedy: 'Give more of the id.',
    });
  }
}

/** Nobody knows a run of that name. */
export class RunNotFoundError extends CaissonError {
  readonly code = 'RUN_NOT_FOUND';

  constructor(runId: string) {
    super(`there is no run ${runId}`, { remedy: 'caisson runs lists the runs of this project.' });
  }
}
