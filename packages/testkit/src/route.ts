import type { WireApi } from './conversation.ts';
import { anthropicMessages } from './wire/anthropic-messages.ts';
import { gemini } from './wire/gemini.ts';
import { openAiChat } from './wire/openai-chat.ts';
import { openAiResponses } from './wire/openai-responses.ts';
import type { Wire } from './wire/wire.ts';

export interface Route {
  readonly api: WireApi;
  readonly wire: Wire;
  /** `count` asks for a number of tokens, not for an answer. */
  readonly kind: 'answer' | 'count';
}

const ROUTES: readonly { readonly pattern: RegExp; readonly route: Route }[] = [
  {
    pattern: /\/messages\/count_tokens$/,
    route: { api: 'anthropic-messages', wire: anthropicMessages, kind: 'count' },
  },
  { pattern: /\/messages$/, route: { api: 'anthropic-messages', wire: anthropicMessages, kind: 'answer' } },
  { pattern: /\/responses$/, route: { api: 'openai-responses', wire: openAiResponses, kind: 'answer' } },
  { pattern: /\/chat\/completions$/, route: { api: 'openai-chat', wire: openAiChat, kind: 'answer' } },
  { pattern: /:countTokens$/, route: { api: 'gemini', wire: gemini, kind: 'count' } },
  {
    pattern: /:(streamGenerateContent|generateContent)$/,
    route: { api: 'gemini', wire: gemini, kind: 'answer' },
  },
];

/** Which wire format a path belongs to; prefixes such as `/v1` do not matter. */
export function findRoute(url: string): Route | null {
  const path = url.split('?', 1)[0] ?? '';
  return ROUTES.find(({ pattern }) => pattern.test(path))?.route ?? null;
}
