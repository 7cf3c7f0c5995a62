import type { Question, RunStatus, ThreadStatus } from '@caisson/protocol';

/**
 * Of a run on a remote repository, while its branch is not there: `pending`, its host pushes it; `failed`, it tried; `kept`,
 * a person has to. `late`: of a run that ran out of time, until it is taken over; on a remote, only where it is pushed.
 * `held`: it was not made, and only a person can; of a run that ran out of time, or whose branch was to be pushed.
 */
export type WaitingBranch = 'pending' | 'failed' | 'kept' | 'late' | 'held';

/** Which runs, in which order. Conditions add up. */
export interface RunFilter {
  readonly status?: RunStatus | readonly RunStatus[];
  readonly session?: string;
  readonly agent?: string;
  readonly runtime?: string;
  /** Only runs that continue this one. */
  readonly continues?: string;
  readonly idempotencyKey?: string;
  /** Only runs that have ended and have no seal. */
  readonly unsealed?: true;
  /** Only runs whose branch waits like this. */
  readonly waitingBranch?: WaitingBranch;
  /** Only these. */
  readonly ids?: readonly string[];
  /** Accepted then or later: RFC 3339 UTC with milliseconds, as the rows have it. */
  readonly since?: string;
  /** Accepted before. */
  readonly until?: string;
  /** Somewhere in the task, in whichever case. Runs are looked at in their order until the page is full. */
  readonly text?: string;
  /** `accepted` (the default): in the order of acceptance. `ended`: only runs that have ended, in the order of that. */
  readonly order?: 'accepted' | 'ended';
  readonly newestFirst?: boolean;
  /** Begins behind this run in that order: the last one of the page before. */
  readonly after?: string;
  /** Ends with this run in that order. */
  readonly upTo?: string;
  readonly limit?: number;
}

/** Which threads, in the order of their acceptance. Conditions add up. */
export interface ThreadFilter {
  readonly workflow?: string;
  readonly status?: ThreadStatus | readonly ThreadStatus[];
  readonly newestFirst?: boolean;
  /** Begins behind this thread in that order: the last one of the page before. */
  readonly after?: string;
  readonly limit?: number;
}

/** A part of a run's id. `end` has at least four characters. */
export type IdPart = { readonly beginning: string } | { readonly end: string };

/** Ids are found by so many of their last characters. */
export const INDEXED_END = 4;

/** A part of a list in its order: what comes behind a row, and at most so many. */
export interface Page {
  /** The id of the last row of the page before. */
  readonly after?: string;
  readonly limit?: number;
}

/** In the order in which they were asked. */
export interface QuestionFilter extends Page {
  readonly runId?: string;
  readonly status?: Question['status'];
}

/** In the order of the runs' ids, which are also the ids of the rows. */
export interface SpendFilter extends Page {
  readonly session?: string;
  readonly day?: string;
  readonly newestFirst?: boolean;
}

/** In the order of their requests. */
export interface ApprovalFilter extends Page {
  readonly runId?: string;
  readonly status?: 'open' | 'allowed' | 'denied';
  /** The last characters of its id, at least four; not for a page. */
  readonly idEnd?: string;
}

/** Whether a condition has an index of few runs: to look at all of them is less than a search. */
export function isOfFew({ continues, unsealed, waitingBranch }: RunFilter): boolean {
  return [continues, unsealed, waitingBranch].some((given) => given !== undefined);
}
