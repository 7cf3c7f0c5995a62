import type { ScriptUsage } from './script.ts';

/** Tokens as the server counts them; `inputTokens` excludes the cache on every API. */
export interface CountedUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

export const NO_USAGE: CountedUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

/** A call with the client's own names. */
export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  readonly kind: 'function' | 'custom' | 'local_shell';
  /** An object, or the free text of a custom tool. */
  readonly input: Readonly<Record<string, unknown>> | string;
  readonly namespace?: string;
}

/** The model's answer in one turn, before it is put into a wire format. */
export interface Answer {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly call: ToolCall | null;
  readonly isRefusal: boolean;
  /** It reports that it was cut at the maximum number of tokens. */
  readonly isCut: boolean;
  readonly usage: CountedUsage;
}

/** The model's text when it refuses. Clients that ask again send it back; it never advances a script. */
export const REFUSAL_TEXT = "I can't help with that.";

/** The usage of a turn when its script gives none: four bytes a token, never zero. */
export function countUsage(
  given: ScriptUsage | undefined,
  requestBytes: number,
  answerBytes: number,
): CountedUsage {
  return {
    inputTokens: given?.inputTokens ?? Math.max(1, Math.ceil(requestBytes / 4)),
    outputTokens: given?.outputTokens ?? Math.max(1, Math.ceil(answerBytes / 4)),
    cacheReadTokens: given?.cacheReadTokens ?? 0,
    cacheWriteTokens: given?.cacheWriteTokens ?? 0,
  };
}

export function addUsage(left: CountedUsage, right: CountedUsage): CountedUsage {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    cacheReadTokens: left.cacheReadTokens + right.cacheReadTokens,
    cacheWriteTokens: left.cacheWriteTokens + right.cacheWriteTokens,
  };
}
