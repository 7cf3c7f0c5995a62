import { CaissonError } from '@caisson/protocol';

/** The bytes read are not the bytes written. */
export class LedgerCorruptError extends CaissonError {
  readonly code: string = 'LEDGER_CORRUPT';
  readonly file: string;
  readonly runId: string | null | undefined;
  readonly seq: number | undefined;
  readonly problem: string;

  constructor(
    file: string,
    problem: string,
    where: { runId?: string | null; seq?: number; cause?: unknown; remedy?: string } = {},
  ) {
    const remedy =
      where.remedy ??
      'Nothing was changed. Keep a copy of the file, then restore it from a backup or move it away to start a new ledger; caisson gc keeps the files of its runs until caisson doctor --accept-ledger.';
    super(`The ledger ${file} is damaged${placeText(where)}: ${problem}. ${remedy}`, {
      cause: where.cause,
      remedy,
    });
    this.file = file;
    this.runId = where.runId;
    this.seq = where.seq;
    this.problem = problem;
  }
}

/** The end of the file is missing, as after an interrupted copy; nothing was forged. */
export class LedgerTruncatedError extends LedgerCorruptError {
  override readonly code = 'LEDGER_TRUNCATED';
}

function placeText(where: { runId?: string | null; seq?: number }): string {
  if (where.runId === undefined) return '';
  const stream = where.runId === null ? 'the project stream' : `run ${where.runId}`;
  return where.seq === undefined ? ` in ${stream}` : ` at ${stream}, seq ${where.seq}`;
}

/** The file is something else: not a database, or another program's. */
export class LedgerForeignError extends CaissonError {
  readonly code = 'LEDGER_FOREIGN';
  constructor(file: string, what: string, cause?: unknown) {
    const remedy = 'It was left untouched. Move it away, or point --state-dir at another folder.';
    super(`${file} is not a Caisson ledger: ${what}. ${remedy}`, { cause, remedy });
  }
}

/** A newer Caisson wrote this ledger. */
export class LedgerTooNewError extends CaissonError {
  readonly code = 'LEDGER_TOO_NEW';
  constructor(file: string, found: number, known: number) {
    const remedy = 'It was left untouched. Update Caisson, or point --state-dir at another folder.';
    super(
      `The ledger ${file} has schema version ${found}; this Caisson knows versions up to ${known}. ${remedy}`,
      { remedy },
    );
  }
}

/** The file or its folder cannot be written. */
export class LedgerUnwritableError extends CaissonError {
  readonly code = 'LEDGER_UNWRITABLE';
  constructor(file: string, what: string, cause?: unknown) {
    const remedy = 'Make the folder writable for this user, or point --state-dir at another folder.';
    super(`The ledger ${file} cannot be written: ${what}. ${remedy}`, { cause, remedy });
  }
}

/** No space left. Nothing of the call was recorded; what was recorded before can still be read. */
export class LedgerFullError extends CaissonError {
  readonly code = 'LEDGER_FULL';
  override readonly retryable = true;
  constructor(file: string, cause?: unknown) {
    const remedy =
      'Free some space on that disk and try again. caisson gc --older-than 0s names what takes most of it, and removes what no run needs.';
    super(`The disk that holds the ledger ${file} is full; nothing of this was recorded. ${remedy}`, {
      cause,
      remedy,
    });
  }
}

/** The file was removed or moved while it was open: what would be written now could never be read. */
export class LedgerGoneError extends CaissonError {
  readonly code = 'LEDGER_GONE';
  constructor(file: string) {
    const remedy =
      'Runs under way were stopped and could not be recorded. Put the folder back if it was moved, or start again; ' +
      'to free space, use caisson gc and caisson forget instead of removing the folder.';
    super(`The ledger ${file} was removed, moved or replaced while it was in use. ${remedy}`, { remedy });
  }
}

/** Other processes kept the ledger locked for too long. */
export class LedgerBusyError extends CaissonError {
  readonly code = 'LEDGER_BUSY';
  override readonly retryable = true;
  constructor(file: string, cause?: unknown) {
    const remedy = 'Try again; if it stays locked, look for a stopped process that has the file open.';
    super(`The ledger ${file} stayed locked by another process. ${remedy}`, { cause, remedy });
  }
}

/** The operating system failed to read or write the file. */
export class LedgerIoError extends CaissonError {
  readonly code = 'LEDGER_IO';
  constructor(file: string, what: string, cause?: unknown) {
    const remedy = 'Check the disk and the system log.';
    super(`The ledger ${file} could not be used: ${what}. ${remedy}`, { cause, remedy });
  }
}

/** `close` was called before. */
export class LedgerClosedError extends CaissonError {
  readonly code = 'LEDGER_CLOSED';
  constructor(file: string) {
    super(`The ledger ${file} is closed; open it again before using it.`);
  }
}

/** The event cannot be recorded: a bug of the caller. */
export class InvalidEventError extends CaissonError {
  readonly code = 'LEDGER_INVALID_EVENT';
  constructor(what: string) {
    super(`The event cannot be recorded: ${what}.`);
  }
}

/** The state of the run does not allow this event now (invariant 1). */
export class IllegalTransitionError extends CaissonError {
  readonly code = 'LEDGER_ILLEGAL_TRANSITION';
  readonly runId: string | null;
  readonly type: string;
  constructor(runId: string | null, type: string, why: string) {
    super(`${type} was refused for ${runId ?? 'the project stream'}: ${why}.`);
    this.runId = runId;
    this.type = type;
  }
}

/** The pool is full: its runs have a slot or wait for one. */
export class PoolFullError extends CaissonError {
  readonly code = 'LEDGER_POOL_FULL';
  override readonly retryable = true;
  readonly count: number;
  constructor(pool: string, count: number, bound: number) {
    super(`The pool ${pool} accepts ${bound} runs, and ${count} are in it; try again later.`);
    this.count = count;
  }
}

/** Another process appended to the run first. */
export class SequenceConflictError extends CaissonError {
  readonly code = 'LEDGER_SEQUENCE_CONFLICT';
  override readonly retryable = true;
  readonly expected: number;
  readonly actual: number;
  constructor(runId: string | null, expected: number, actual: number) {
    super(
      `${runId ?? 'The project stream'} was expected at seq ${expected} but is at ${actual}; read again and decide again.`,
    );
    this.expected = expected;
    this.actual = actual;
  }
}

/** The id is taken by a different event. */
export class EventIdConflictError extends CaissonError {
  readonly code = 'LEDGER_EVENT_ID_CONFLICT';
  constructor(id: string) {
    super(`The event id ${id} already belongs to an event with other content; ids must be unique.`);
  }
}

/** A run with this idempotency key was accepted before. */
export class IdempotencyKeyTakenError extends CaissonError {
  readonly code = 'LEDGER_IDEMPOTENCY_KEY_TAKEN';
  readonly runId: string;
  constructor(key: string, runId: string) {
    super(
      `The idempotency key ${key} already belongs to ${runId}; show that run instead of accepting another.`,
    );
    this.runId = runId;
  }
}

export class AddonMissingError extends CaissonError {
  readonly code = 'LEDGER_ADDON_MISSING';

  constructor(folder: string, cause: Error) {
    super(`No build of SQLite in ${folder} can be loaded: ${cause.message}`, {
      cause,
      remedy: 'Install the dependencies again (npm ci), with the Node that runs Caisson.',
    });
  }
}

/** Whether the ledger can accept nothing now and may be able to later: it is locked, full, failing or read-only. */
export function isOutage(error: unknown): boolean {
  return [LedgerBusyError, LedgerFullError, LedgerIoError, LedgerUnwritableError].some(
    (kind) => error instanceof kind,
  );
}

/** Another host drives the run now; what this one still had to say of it is not recorded. */
export class RunTakenOverError extends CaissonError {
  readonly code = 'RUN_TAKEN_OVER';
  constructor(runId: string, host: string) {
    super(`${runId} was adopted by another host (${host}); this one may write nothing of it any more.`);
  }
}

/** Whether the ledger refused the content of the call. It will never accept it. */
export function isRefusal(error: unknown): boolean {
  return [InvalidEventError, IllegalTransitionError, EventIdConflictError, RunTakenOverError].some(
    (kind) => error instanceof kind,
  );
}
