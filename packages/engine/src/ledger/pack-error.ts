// Errors on their way from the ledger's thread: a clone would lose its class, and callers ask for that.

import { definedOnly, type CaissonError } from '@caisson/protocol';
import * as errors from './errors.ts';

/** By their code, which is public and the same in every bundle. */
const CLASSES: Readonly<Record<string, { readonly prototype: CaissonError }>> = {
  LEDGER_CORRUPT: errors.LedgerCorruptError,
  LEDGER_TRUNCATED: errors.LedgerTruncatedError,
  LEDGER_FOREIGN: errors.LedgerForeignError,
  LEDGER_TOO_NEW: errors.LedgerTooNewError,
  LEDGER_UNWRITABLE: errors.LedgerUnwritableError,
  LEDGER_FULL: errors.LedgerFullError,
  LEDGER_GONE: errors.LedgerGoneError,
  LEDGER_BUSY: errors.LedgerBusyError,
  LEDGER_IO: errors.LedgerIoError,
  LEDGER_CLOSED: errors.LedgerClosedError,
  LEDGER_INVALID_EVENT: errors.InvalidEventError,
  LEDGER_ILLEGAL_TRANSITION: errors.IllegalTransitionError,
  LEDGER_POOL_FULL: errors.PoolFullError,
  LEDGER_SEQUENCE_CONFLICT: errors.SequenceConflictError,
  LEDGER_EVENT_ID_CONFLICT: errors.EventIdConflictError,
  LEDGER_IDEMPOTENCY_KEY_TAKEN: errors.IdempotencyKeyTakenError,
  RUN_TAKEN_OVER: errors.RunTakenOverError,
  LEDGER_ADDON_MISSING: errors.AddonMissingError,
};

/** An error as plain data. */
export interface PackedError {
  readonly message: string;
  readonly stack: string | undefined;
  /** What else it has as its own, its code among them. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly cause?: PackedError;
}

export function packError(error: unknown): PackedError {
  if (!(error instanceof Error)) return { message: String(error), stack: undefined, fields: {} };
  const { cause: _cause, ...fields } = { ...error };
  return {
    message: error.message,
    stack: error.stack,
    fields,
    ...definedOnly({ cause: error.cause === undefined ? undefined : packError(error.cause) }),
  };
}

export function unpackError({ message, stack, fields, cause }: PackedError): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause: unpackError(cause) });
  const known = typeof fields['code'] === 'string' ? CLASSES[fields['code']] : undefined;
  if (known !== undefined) Object.setPrototypeOf(error, known.prototype);
  return Object.assign(error, fields, definedOnly({ stack }));
}
