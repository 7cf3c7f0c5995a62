/** The end of an attempt whose worker never started: the run is told why, and may be tried again. */
import { isRetryable, type Failure } from '@caisson/protocol';
import { orWarn } from './clean-up.ts';
import type { AdmittedRun, DispatchRooms } from './contract.ts';
import type { RunRecord } from './run-record.ts';

export async function settleWithoutWorker(
  rooms: DispatchRooms,
  run: AdmittedRun,
  record: RunRecord,
  input: {
    attempt: number;
    failure: Failure;
    durationMs: number;
    retry: { attemptsLeft: number; delayMs: number };
  },
): Promise<'retry' | 'ended'> {
  const { attempt, failure, retry } = input;
  if (retry.attemptsLeft > 0 && isRetryable(failure, false)) {
    await record.append(
      'attempt.ended',
      { failure, nextAttempt: attempt + 1, delayMs: retry.delayMs },
      { attempt },
    );
    return 'retry';
  }
  await record.append('dispatch.failed', { durationMs: Math.round(input.durationMs), failure }, { attempt });
  rooms.budget.settle(run.runId, undefined);
  await orWarn(record, attempt, 'evidence', () => rooms.seal(run.runId));
  return 'ended';
}
