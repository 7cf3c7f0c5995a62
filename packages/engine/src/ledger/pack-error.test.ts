import type { CaissonError } from '@caisson/protocol';
import { expect, test } from 'vitest';
import * as errors from './errors.ts';
import { packError, unpackError } from './pack-error.ts';

const cross = (error: unknown): Error => unpackError(structuredClone(packError(error)));

/** One of each class; the compiler knows that none is left out. */
const EACH = {
  LedgerCorruptError: new errors.LedgerCorruptError('f', 'p', {
    runId: 'run_1',
    seq: 3,
    cause: new Error('c'),
  }),
  LedgerTruncatedError: new errors.LedgerTruncatedError('f', 'p'),
  LedgerForeignError: new errors.LedgerForeignError('f', 'w'),
  LedgerTooNewError: new errors.LedgerTooNewError('f', 2, 1),
  LedgerUnwritableError: new errors.LedgerUnwritableError('f', 'w'),
  LedgerFullError: new errors.LedgerFullError('f', new Error('no space')),
  LedgerGoneError: new errors.LedgerGoneError('f'),
  LedgerBusyError: new errors.LedgerBusyError('f'),
  LedgerIoError: new errors.LedgerIoError('f', 'w'),
  LedgerClosedError: new errors.LedgerClosedError('f'),
  InvalidEventError: new errors.InvalidEventError('w'),
  IllegalTransitionError: new errors.IllegalTransitionError('run_1', 't', 'w'),
  PoolFullError: new errors.PoolFullError('p', 2, 1),
  SequenceConflictError: new errors.SequenceConflictError('run_1', 1, 2),
  EventIdConflictError: new errors.EventIdConflictError('i'),
  IdempotencyKeyTakenError: new errors.IdempotencyKeyTakenError('k', 'run_1'),
  RunTakenOverError: new errors.RunTakenOverError('run_1', 'host_b'),
  AddonMissingError: new errors.AddonMissingError('f', new Error('c')),
} satisfies Record<Exclude<keyof typeof errors, 'isOutage' | 'isRefusal'>, CaissonError>;

test.each(Object.entries(EACH))('%s is the same error on the other side of a thread', (name, error) => {
  const crossed = cross(error);
  expect(crossed).toBeInstanceOf(error.constructor);
  expect({ ...crossed }).toEqual({ ...error });
  expect([crossed.name, crossed.message, crossed.stack]).toEqual([name, error.message, error.stack]);
  expect((crossed.cause as Error | undefined)?.message).toBe((error.cause as Error | undefined)?.message);
  expect((crossed as CaissonError).toInfo()).toEqual(error.toInfo());
});

test('what is not ours stays a plain error with its message', () => {
  expect(cross(new TypeError('no secret'))).toMatchObject({ message: 'no secret' });
  expect(cross('thrown text')).toMatchObject({ message: 'thrown text' });
});
