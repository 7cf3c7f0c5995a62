import * as z from 'zod/mini';
import { AGENT_CAUSES } from './runtimes.ts';

/** Why a run failed. Closed: another program may switch on it exhaustively. */
export const FAILURE_REASONS = [
  'integrity-failed',
  'fetch-failed',
  'worker-failed',
  'provider-failed',
  'timeout',
  'budget-exceeded',
  'policy-denied',
  'crashed',
  'lost',
  'output-invalid',
] as const;
export const FailureReason = z.enum(FAILURE_REASONS);
export type FailureReason = z.infer<typeof FailureReason>;

/**
 * The finer cause under a reason: what the agent reported, what the broker saw (`stream-cut`: the model's last answer
 * broke off; `failed-answers`: too many failed in a row), or which limit stopped it.
 */
export const FailureCause = z.enum([
  ...AGENT_CAUSES,
  'stream-cut',
  'failed-answers',
  'oom',
  'pids',
  'disk',
  'gate',
  'stalled',
]);
export type FailureCause = z.infer<typeof FailureCause>;

/** The same shape wherever a failure is reported. */
export const Failure = z.object({
  reason: FailureReason,
  detail: z.string().check(z.maxLength(16_384)),
  cause: z.optional(FailureCause),
  step: z.optional(z.int().check(z.gte(1), z.lte(14))),
});
export type Failure = z.infer<typeof Failure>;

/** Failures of the model's service that pass. */
const PASSING_CAUSES: ReadonlySet<FailureCause> = new Set<FailureCause>([
  'overloaded',
  'rate-limit',
  'stream-cut',
]);

/** Which failures another attempt of the same host may fix, for any task. */
export function isRetryable(failure: Failure): boolean {
  switch (failure.reason) {
    case 'crashed':
    case 'fetch-failed':
      return true;
    case 'provider-failed':
      return failure.cause !== undefined && PASSING_CAUSES.has(failure.cause);
    case 'lost': // its host is dead, and the process that recovers it dispatches nothing: decision 0010
    case 'integrity-failed':
    case 'worker-failed':
    case 'timeout':
    case 'budget-exceeded':
    case 'policy-denied':
    case 'output-invalid':
      return false;
  }
}
