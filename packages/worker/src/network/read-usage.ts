/** The reported usage of a model's answer, in any of the four wire formats. */
import type { TokenCounts } from '@caisson/protocol';
import { members, type Members } from './members.ts';

export interface AnswerUsage {
  /** `null` if this piece of the answer does not name it. */
  readonly model: string | null;
  /** What this piece reports; earlier values of the rest stay valid. */
  readonly counts: Partial<TokenCounts> | null;
}

/** Reads a whole answer or one event of a stream; null when it has no usage and names no model. */
export function readUsage(value: unknown): AnswerUsage | null {
  const top = members(value);
  // Responses and Code Assist wrap the answer in `response`, the first event of Anthropic's stream in `message`.
  const body = [top['response'], top['message']].map(members).find((inner) => Object.keys(inner).length > 0);
  const model = text(body?.['model']) ?? text(body?.['modelVersion']) ?? text(top['model']);
  const named = model ?? text(top['modelVersion']);
  const usage = members(body?.['usage'] ?? top['usage']);
  const metadata = members(body?.['usageMetadata'] ?? top['usageMetadata']);
  const all = countsOf(usage) ?? geminiCounts(metadata);
  const counts = top['type'] === 'message_start' ? withoutOutput(all) : all;
  return named === null && counts === null ? null : { model: named, counts };
}

/** At its start, Anthropic's stream has the length of the first piece, not of the whole. */
function withoutOutput(counts: Partial<TokenCounts> | null): Partial<TokenCounts> | null {
  if (counts === null) return null;
  const { outputTokens: _first, ...rest } = counts;
  return rest;
}

function countsOf(usage: Members): Partial<TokenCounts> | null {
  if ('prompt_tokens' in usage || 'completion_tokens' in usage) {
    const cacheRead = number(members(usage['prompt_tokens_details'])['cached_tokens']);
    return cacheInside(number(usage['prompt_tokens']), number(usage['completion_tokens']), cacheRead);
  }
  if (!('input_tokens' in usage) && !('output_tokens' in usage)) return null;
  const input = number(usage['input_tokens']);
  const output = number(usage['output_tokens']);
  if ('input_tokens_details' in usage) {
    const details = members(usage['input_tokens_details']);
    return cacheInside(
      input,
      output,
      number(details['cached_tokens']),
      number(details['cache_write_tokens']),
    );
  }
  const cacheRead = number(usage['cache_read_input_tokens']);
  const cacheWrite = number(usage['cache_creation_input_tokens']);
  return {
    ...(input > 0 ? { inputTokens: input } : {}),
    ...(cacheRead > 0 ? { cacheReadTokens: cacheRead } : {}),
    ...(cacheWrite > 0 ? { cacheWriteTokens: cacheWrite } : {}),
    ...(output > 0 ? { outputTokens: output } : {}),
  };
}

function geminiCounts(metadata: Members): Partial<TokenCounts> | null {
  if (!('promptTokenCount' in metadata)) return null;
  const output = number(metadata['candidatesTokenCount']) + number(metadata['thoughtsTokenCount']);
  return cacheInside(
    number(metadata['promptTokenCount']),
    output,
    number(metadata['cachedContentTokenCount']),
  );
}

/** Anthropic counts cached tokens separately; for all others they are part of the prompt. */
function cacheInside(
  prompt: number,
  output: number,
  cacheReadTokens: number,
  cacheWriteTokens = 0,
): Partial<TokenCounts> {
  const inputTokens = Math.max(0, prompt - cacheReadTokens - cacheWriteTokens);
  return {
    ...(prompt > 0 ? { inputTokens, cacheReadTokens, cacheWriteTokens } : {}),
    ...(output > 0 ? { outputTokens: output } : {}),
  };
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, 200) : null;
}

/** Whole and not negative: a server's numbers are not trusted further. */
function number(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
