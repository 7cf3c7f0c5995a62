import type { DispatchResult, FailureReason } from '@caisson/protocol';

/** Every code of our own that the CLI ends with; other programs rely on them. `run -- CMD` adds those of the command. */
export const EXIT_CODES = {
  finished: 0,
  failed: 1,
  usage: 2,
  needsInput: 3,
  policyDenied: 4,
  budgetExceeded: 5,
  tampered: 6,
  badSignature: 7,
  noKey: 8,
  unsealed: 9,
  incomplete: 10,
  timeout: 124,
  cancelled: 130,
} as const;
export type ExitCode = number;

const BY_REASON: Partial<Record<FailureReason, ExitCode>> = {
  timeout: EXIT_CODES.timeout,
  'budget-exceeded': EXIT_CODES.budgetExceeded,
  'policy-denied': EXIT_CODES.policyDenied,
  'integrity-failed': EXIT_CODES.tampered,
};

const BY_ERROR_CODE: Readonly<Record<string, ExitCode>> = {
  USAGE: EXIT_CODES.usage,
  CONFIG_INVALID: EXIT_CODES.usage,
  UNIT_INVALID: EXIT_CODES.usage,
  UNKNOWN_MODE: EXIT_CODES.usage,
  POLICY_DENIED: EXIT_CODES.policyDenied,
  TRUST_REQUIRED: EXIT_CODES.policyDenied,
  TRUST_STORE: EXIT_CODES.policyDenied,
  PROJECT_REFUSED: EXIT_CODES.policyDenied,
  STATE_REFUSED: EXIT_CODES.policyDenied,
  BUDGET_EXCEEDED: EXIT_CODES.budgetExceeded,
  INTEGRITY_FAILED: EXIT_CODES.tampered,
  LEDGER_CORRUPT: EXIT_CODES.tampered,
  LEDGER_ROLLED_BACK: EXIT_CODES.tampered,
  STORE_CORRUPT: EXIT_CODES.tampered,
  REGISTRY_CORRUPT: EXIT_CODES.tampered,
  TAMPERED: EXIT_CODES.tampered,
  UNSEALED: EXIT_CODES.unsealed,
  INCOMPLETE: EXIT_CODES.incomplete,
  BLOB_MISSING: EXIT_CODES.incomplete,
  LEDGER_TRUNCATED: EXIT_CODES.incomplete,
  BAD_SIGNATURE: EXIT_CODES.badSignature,
  NO_KEY: EXIT_CODES.noKey,
};

const BY_REFUSAL: Readonly<Record<string, ExitCode>> = {
  usage: EXIT_CODES.usage,
  policy: EXIT_CODES.policyDenied,
  budget: EXIT_CODES.budgetExceeded,
};

type Ended = Pick<DispatchResult, 'status' | 'failure' | 'branch' | 'push'> &
  Partial<Pick<DispatchResult, 'exitCode' | 'result'>>;

/** What the caller knows of a run beside its result. */
export interface ExitView {
  /** The run was a plain command: its own code is the CLI's. */
  readonly isOfCommand?: boolean;
  /** A check that did not pass is reported, and that is all. */
  readonly isVerifyReportOnly?: boolean;
}

/** The exit code of a run's ending. */
export function exitCodeOfResult(result: Ended, view: ExitView = {}): ExitCode {
  const isBranchMissing = result.branch !== undefined && result.branch.status !== 'created';
  const isUnpushed = result.push !== undefined && result.push.status !== 'pushed';
  const isUnverified = result.result?.verify?.passed === false && view.isVerifyReportOnly !== true;
  if (result.status === 'done')
    return isBranchMissing || isUnpushed || isUnverified ? EXIT_CODES.failed : EXIT_CODES.finished;
  if (view.isOfCommand === true && result.failure?.cause === 'exit-code')
    return result.exitCode ?? EXIT_CODES.failed;
  if (result.status === 'waiting' || result.status === 'answered') return EXIT_CODES.needsInput;
  if (result.failure !== undefined) return BY_REASON[result.failure.reason] ?? EXIT_CODES.failed;
  return result.status === 'cancelled' || result.status === 'interrupted'
    ? EXIT_CODES.cancelled
    : EXIT_CODES.failed;
}

/** The exit code of an error: by its public code, a refusal by its check. */
export function exitCodeOfError(code: string, refusalKind?: string): ExitCode {
  return BY_REFUSAL[refusalKind ?? ''] ?? BY_ERROR_CODE[code] ?? EXIT_CODES.failed;
}
