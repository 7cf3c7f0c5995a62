/** Why a request brought no answer that an agent can use. */
import type { ModelError } from '@caisson/protocol';
import { members } from './members.ts';

/** By the status of an answer that is none of 2xx. */
export function errorOfStatus(status: number): ModelError {
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate-limit';
  return status === 503 || status === 529 ? 'overloaded' : 'api-error';
}

const WORDS: readonly (readonly [ModelError, RegExp])[] = [
  ['overloaded', /overloaded|\bUNAVAILABLE\b|\b(?:503|529)\b/],
  ['rate-limit', /rate_limit|\bRESOURCE_EXHAUSTED\b|too_many_requests|\b429\b/],
];

/** By an event inside a stream that had begun as a success. */
export function readError(value: unknown): ModelError | null {
  const top = members(value);
  const error = [top['error'], members(top['response'])['error']]
    .map(members)
    .find((one) => Object.keys(one).length > 0);
  if (error === undefined) return null;
  const words = [error['type'], error['code'], error['status']].join(' ');
  return WORDS.find(([, pattern]) => pattern.test(words))?.[0] ?? 'api-error';
}
