/** Failures of the machine that may pass: a later repetition may work. */
import { CaissonError } from '@caisson/protocol';
import { isOutage } from '../ledger/index.ts';

/** Whether to try again later instead of continuing without it. */
export type MayPass = (error: unknown) => boolean;

const CODES: ReadonlySet<unknown> = new Set([
  'EIO',
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EAGAIN',
  'EBUSY',
  'ESTALE',
  'ETIMEDOUT',
]);
/** The messages of programs that pass no code on, such as git. */
const WORDS =
  /No space left on device|Input\/output error|Disk quota exceeded|Read-only file system|Too many open files|Cannot allocate memory|Resource temporarily unavailable|Stale file handle|Device or resource busy|Unable to create '[^']*\.lock': File exists|^git \S+ died of SIGKILL/;

/** Also if it is the cause of the error. */
export const isPassing: MayPass = (error) => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isOutage(cause) || (cause instanceof CaissonError && cause.retryable)) return true;
    if (('code' in cause && CODES.has(cause.code)) || WORDS.test(cause.message)) return true;
  }
  return false;
};
