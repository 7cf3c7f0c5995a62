import { CaissonError, definedOnly } from '@caisson/protocol';

/** Why a task is not taken; every room that looks at a task may say so. */
export interface Refusal {
  readonly check: string;
  readonly detail: string;
  readonly remedy?: string;
  /** Which exit code a face chooses. */
  readonly kind: 'usage' | 'policy' | 'budget' | 'unavailable' | 'full';
  /** The user's log-in that would do, if they agree to its use. */
  readonly offersLogin?: { readonly runtime: string; readonly path: string };
}

/** Admission said no; there is no run. */
export class TaskRefusedError extends CaissonError {
  readonly code = 'TASK_REFUSED';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(`${refusal.detail} (check: ${refusal.check})`, definedOnly({ remedy: refusal.remedy }));
    this.refusal = refusal;
  }
}

/** Why admission said no, if that is what was thrown: here, by a daemon, or by another bundle in this process. */
export function findRefusal(error: unknown): Refusal | undefined {
  if (!(error instanceof CaissonError) || error.code !== 'TASK_REFUSED') return undefined;
  return (error as TaskRefusedError).refusal;
}
