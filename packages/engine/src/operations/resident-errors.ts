import { CaissonError, findNearest } from '@caisson/protocol';

/** There is no thread of that name, or several fit. */
export class ThreadNotFoundError extends CaissonError {
  readonly code = 'THREAD_NOT_FOUND';

  constructor(given: string, fitting: readonly string[] = []) {
    const isNone = given === 'latest';
    super(
      isNone
        ? 'there is no thread yet'
        : fitting.length < 2
          ? `there is no thread "${given}"`
          : `"${given}" fits several threads: ${fitting.slice(0, 5).join(', ')}`,
      { remedy: isNone ? 'caisson workflows trigger NAME starts one.' : 'caisson threads list lists them.' },
    );
  }
}

/** It is not declared, or the user has not agreed to it. */
export class ResidentNotFoundError extends CaissonError {
  readonly code = 'RESIDENT_NOT_FOUND';

  constructor(what: string, given: string, known: readonly string[]) {
    const nearest = findNearest(given, known);
    const hint = nearest === null ? '' : ` Did you mean "${nearest}"?`;
    super(`there is no ${what} "${given}".${hint}`, {
      remedy:
        known.length === 0
          ? 'caisson.yaml declares none that you have agreed to: caisson trust shows what it asks for.'
          : `Known: ${known.join(', ')}.`,
    });
  }
}

/** A thread that goes on cannot be resumed. */
export class ThreadActiveError extends CaissonError {
  readonly code = 'THREAD_ACTIVE';
}

/** A workflow had no room for another thread. */
export class ThreadDroppedError extends CaissonError {
  readonly code = 'THREAD_DROPPED';

  constructor(workflow: string, why: string) {
    super(`the workflow "${workflow}" has no room for another thread (${why})`);
  }
}

/** It crashed too often, and is not started again before a person says so. */
export class ResidentBlockedError extends CaissonError {
  readonly code = 'RESIDENT_BLOCKED';

  constructor(key: string) {
    super(`${key} is blocked, because it crashed too often`, {
      remedy: `When its code is corrected: caisson residents reset ${key}.`,
    });
  }
}

/** What is declared is not at work: it could not be opened when the daemon started. */
export class ResidentsClosedError extends CaissonError {
  readonly code = 'RESIDENTS_CLOSED';

  constructor(why: string) {
    super(`the residents of this project do not work: ${why}`, { remedy: 'To try again: caisson reload.' });
  }
}
