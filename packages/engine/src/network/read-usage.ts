/** What an answer of a model says that it used, in whichever of the four wire formats it came. */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

export interface AnswerUsage {
  /** `null` where this piece of the answer does not name it. */
  readonly model: string | null;
  readonly counts: TokenCounts;
}

type Members = Readonly<Record<string, unknown>>;

/** Reads a whole answer or one event of a stream; null when it says nothing of usage and names no model. */
export function readUsage(value: unknown): { model: string | null; counts: TokenCounts | null } | null {
  const top = members(value);
  // Responses and Code Assist wrap the answer in `response`, the first event of Anthropic's stream in `message`.
  const body = [top['response'], top['message']].map(members).find((inner) => Object.keys(inner).length > 0);
  const model = text(body?.['model']) ?? text(body?.['modelVersion']) ?? text(top['model']);
  const named = model ?? text(top['modelVersion']);
  const usage = members(body?.['usage'] ?? top['usage']);
  const metadata = members(body?.['usageMetadata'] ?? top['usageMetadata']);
  const counts = countsOf(usage) ?? geminiCounts(metadata);
  return named === null && counts === null ? null : { model: named, counts };
}

function countsOf(usage: Members): TokenCounts | null {
  if ('prompt_tokens' in usage || 'completion_tokens' in usage) {
    const cacheRead = number(members(usage['prompt_tokens_details'])['cached_tokens']);
    return counts(
      number(usage['prompt_tokens']) - cacheRead,
      number(usage['completion_tokens']),
      cacheRead,
      0,
    );
  }
  if (!('input_tokens' in usage) && !('output_tokens' in usage)) return null;
  const input = number(usage['input_tokens']);
  const output = number(usage['output_tokens']);
  const details = members(usage['input_tokens_details']);
  // OpenAI counts what came from the cache as input too; Anthropic counts it apart.
  const inside = number(details['cached_tokens']);
  const insideWritten = number(details['cache_write_tokens']);
  return counts(
    input - inside - insideWritten,
    output,
    inside + number(usage['cache_read_input_tokens']),
    insideWritten + number(usage['cache_creation_input_tokens']),
  );
}

function geminiCounts(metadata: Members): TokenCounts | null {
  if (!('promptTokenCount' in metadata)) return null;
  const cacheRead = number(metadata['cachedContentTokenCount']);
  return counts(
    number(metadata['promptTokenCount']) - cacheRead,
    number(metadata['candidatesTokenCount']) + number(metadata['thoughtsTokenCount']),
    cacheRead,
    0,
  );
}

function counts(input: number, output: number, cacheRead: number, cacheWrite: number): TokenCounts {
  return {
    inputTokens: Math.max(0, input),
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
  };
}

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, 200) : null;
}

/** Whole and not negative: what a server says is not believed further than that. */
function number(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
