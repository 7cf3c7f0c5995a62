import { expect, it } from 'vitest';
import { FAILURE_REASONS, isRetryable } from './failure.ts';

it('only what another attempt may fix is tried again, and never a run whose host is dead', () => {
  const retried = FAILURE_REASONS.filter((reason) => isRetryable({ reason, detail: '' }));
  expect(retried).toEqual(['fetch-failed', 'crashed']);
  expect(isRetryable({ reason: 'provider-failed', cause: 'overloaded', detail: '' })).toBe(true);
  expect(isRetryable({ reason: 'provider-failed', cause: 'rate-limit', detail: '' })).toBe(true);
  expect(isRetryable({ reason: 'provider-failed', cause: 'stream-cut', detail: '' })).toBe(true);
  expect(isRetryable({ reason: 'provider-failed', cause: 'auth', detail: '' })).toBe(false);
  expect(isRetryable({ reason: 'provider-failed', cause: 'failed-answers', detail: '' })).toBe(false);
});
