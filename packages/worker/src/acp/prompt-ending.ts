// How a prompt ended, and its usage. Token counts are not in ACP's stable part: agents send them in other fields, and
// some count only the last answer. Missing counts stay missing.

import { RequestError, type StopReason } from '@agentclientprotocol/sdk';
import type { AgentCause } from '@caisson/protocol';
import type { NativeLine } from '../native/index.ts';
import { numberOf, objectOf, type Json } from '../runtimes/index.ts';

type UsageLine = Extract<NativeLine, { type: 'usage' }>;
type ErrorLine = Extract<NativeLine, { type: 'error' }>;

const AUTH_REQUIRED = -32000;

const FAILURE_OF_STOP: Readonly<Record<Exclude<StopReason, 'end_turn'>, [AgentCause, string]>> = {
  max_tokens: ['max-tokens', 'the answer was cut at the maximum number of tokens'],
  max_turn_requests: ['max-turns', 'the agent reached its maximum number of turns'],
  refusal: ['refusal', 'the model refused to continue'],
  cancelled: ['interrupted', 'the prompt was cancelled'],
};

/** The last line for an answered prompt. */
export function endingOf(stopReason: StopReason, reply: string): NativeLine {
  if (stopReason === 'end_turn') return { type: 'done', reply };
  const [cause, message] = FAILURE_OF_STOP[stopReason] ?? ['api-error', `the agent stopped: ${stopReason}`];
  return { type: 'error', message, cause };
}

/** The last line for a failed request. Agents put the model's message into `data`. */
export function failureOf(error: unknown): ErrorLine {
  if (!(error instanceof RequestError))
    return { type: 'error', message: error instanceof Error ? error.message : String(error) };
  const data = error.data === undefined ? '' : ` ${JSON.stringify(error.data)}`;
  const cause = isAuthRequired(error) ? { cause: 'auth' as const } : {};
  return { type: 'error', message: `${error.message}${data}`, ...cause };
}

export const isAuthRequired = (error: unknown): boolean =>
  error instanceof RequestError && error.code === AUTH_REQUIRED;

/** Tokens of a prompt, in the field of the protocol's draft or in Gemini's. */
export function usageOf(response: unknown): UsageLine | null {
  const { usage, _meta } = objectOf(response);
  const drafted = objectOf(usage);
  const quota = objectOf(objectOf(objectOf(_meta)['quota'])['token_count']);
  const line: UsageLine = {
    type: 'usage',
    input: numberOf(drafted['inputTokens']) + numberOf(quota['input_tokens']),
    output: numberOf(drafted['outputTokens']) + numberOf(quota['output_tokens']) + thoughtsIn(drafted),
    cacheRead: numberOf(drafted['cachedReadTokens']),
    cacheWrite: numberOf(drafted['cachedWriteTokens']),
  };
  return line.input + line.output + line.cacheRead + line.cacheWrite > 0 ? line : null;
}

const thoughtsIn = (usage: Json): number => numberOf(usage['thoughtTokens']);
