/** Failures of the machine that may pass: what failed is done again later, and then works. */
import { CaissonError } from '@caisson/protocol';
import { isOutage } from '../ledger/index.ts';

/** Says whether to try again later instead of going on without. */
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
/** As programs say it that pass no code on; git does. */
const WORDS =
  /No space left on device|Input\/output error|Disk quota exceeded|Read-only file system|Too many open files|Cannot allocate memory|Resource temporarily unavailable|Stale file handle|Device or resource busy|Unable to create '[^']*\.lock': File exists|^git \S+ died of SIGKILL/;

/** Also where it is the cause of what was thrown. */
export const isPassing: MayPass = (error) => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isOutage(cause) || (cause instanceof CaissonError && cause.retryable)) return true;
    if (('code' in cause && CODES.has(cause.code)) || WORDS.test(cause.message)) return true;
  }
  return false;
};
