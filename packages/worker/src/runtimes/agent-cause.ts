// One table of the programs' messages when the model fails, so that the same failure has the same cause everywhere.

import type { AgentCause } from '@caisson/protocol';

/** For a failure that a program reports. Order matters: the first row that matches names the cause. */
const WORDS: readonly (readonly [AgentCause, RegExp])[] = [
  ['max-tokens', /reason: max_output_tokens|exceeded the \d+ output token maximum/i],
  [
    'context-overflow',
    /prompt is too long|context[_ ]?overflow|context exceeds|context[_ ](length|window)|context_length_exceeded|maximum context|token count .* exceeds|exceeds the maximum number of tokens|input is too long/i,
  ],
  [
    'auth',
    /\b401\b|\b403\b|unauthorized|unauthenticated|authentication[_ ]?(error|failed)|invalid (x-)?api[- _]?key|incorrect api key|api key not valid|not logged in|please run \/login|permission_error|credit balance/i,
  ],
  ['overloaded', /\b529\b|\b503\b|overloaded|unavailable|high demand|capacity/i],
  ['rate-limit', /\b429\b|rate[-_ ]?limit|too many requests|resource[_ ]exhausted|quota|usage[_ ]limit/i],
  [
    'refusal',
    /\brefus(al|ed to)\b|content[_ ]filter|\bsafety\b|usage policy|prohibited_content|policy_violation/i,
  ],
  ['max-turns', /max(imum)?[_ ](number of )?turns/i],
  [
    'no-connection',
    /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|connection (refused|error|reset|(was )?closed)|cannot connect|socket hang up|fetch failed|stream (disconnected|closed|ended (before|without))|error sending request|network error|terminated|unable to connect/i,
  ],
];

/**
 * For stderr, where a program also writes warnings, advice and other texts: only phrases that follow a refusal by a
 * model. A bare word or number there is no cause, least of all one that is retried.
 */
const PHRASES: readonly (readonly [AgentCause, RegExp])[] = [
  [
    'context-overflow',
    /context_length_exceeded|prompt is too long: \d+ tokens|exceeds the maximum number of tokens/i,
  ],
  [
    'auth',
    /\b401 Unauthorized|\b403 Forbidden|authentication_error|invalid (x-)?api[- _]?key|incorrect api key|api key not valid|please run \/login/i,
  ],
  ['overloaded', /overloaded_error|\b503 Service Unavailable|\bmodel is (currently )?overloaded\b/i],
  ['rate-limit', /\b429 Too Many Requests|rate_limit_(error|exceeded)|\bRESOURCE_EXHAUSTED\b/],
  ['max-turns', /reached max(imum)? (number of )?(session )?turns/i],
  [
    'no-connection',
    /\b(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT)\b|error sending request for url/,
  ],
];

/** The cause of an HTTP status; `null` if it has none. */
export function causeOfStatus(status: number): AgentCause | null {
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate-limit';
  if (status === 529 || status === 503) return 'overloaded';
  return status >= 400 ? 'api-error' : null;
}

/** The cause that a text names; `null` if it names none. */
export function findCause(text: string): AgentCause | null {
  return WORDS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** The cause that stderr names unambiguously; `null` if it names none. */
export function findCauseOnStderr(text: string): AgentCause | null {
  return PHRASES.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** What programs say of a session that they are to resume and do not have. */
const NO_SESSION =
  /no previous sessions found|invalid session identifier|no conversation found|no rollout found|session not found|no session found/i;

export const isSessionMissing = (text: string): boolean => NO_SESSION.test(text);

/** The cause of a reported failure, by its text and its status if there is one. */
export function causeOf(text: string, status = 0): AgentCause {
  const named = findCause(text);
  // A 400 is ambiguous; the text beside it shows whether it was the context.
  if (named === 'context-overflow') return named;
  return causeOfStatus(status) ?? named ?? 'api-error';
}
