import { severityOf, type ActionClass } from '../action-class.ts';

/** A handler's finding about one simple command. */
export interface Hit {
  readonly actionClass: ActionClass;
  /** Stable name of the rule that matched; shown by `policy check` and asserted by tests. */
  readonly rule: string;
}

/** A hit with the exact piece of the command text that caused it. */
export interface Finding extends Hit {
  readonly cause: string;
}

export function hit(actionClass: ActionClass, rule: string): Hit {
  return { actionClass, rule };
}

/** The worst of several; the first one wins among equals. */
export function worstOf<T extends Hit>(hits: readonly T[]): T | undefined {
  let worst: T | undefined;
  for (const candidate of hits) {
    if (worst === undefined || severityOf(candidate.actionClass) > severityOf(worst.actionClass))
      worst = candidate;
  }
  return worst;
}
