/** What an error inside a stream means that had begun as a success; null where it is none that passes by itself. */
export type PassingError = 'overloaded' | 'rate-limit';

const WORDS: readonly (readonly [PassingError, RegExp])[] = [
  ['overloaded', /overloaded|\bUNAVAILABLE\b|\b(?:503|529)\b/],
  ['rate-limit', /rate_limit|\bRESOURCE_EXHAUSTED\b|too_many_requests|\b429\b/],
];

export function readError(value: unknown): PassingError | null {
  const top = members(value);
  const error = [top['error'], members(top['response'])['error']]
    .map(members)
    .find((one) => Object.keys(one).length > 0);
  if (error === undefined) return null;
  const words = [error['type'], error['code'], error['status']].join(' ');
  return WORDS.find(([, pattern]) => pattern.test(words))?.[0] ?? null;
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
