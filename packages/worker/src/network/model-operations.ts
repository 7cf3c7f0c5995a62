/**
 * The calls that a run may make to its model's API: what the supported agents need, and nothing else. The key opens far
 * more than that (files, batches, fine-tuning, images, administration), which a run must not use.
 */
import type { ModelApi } from '@caisson/protocol';

export interface ModelOperation {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** A model answers, and that costs; the others list models or count tokens. */
  readonly asksModel: boolean;
}

const asks = (path: RegExp): ModelOperation => ({ method: 'POST', path, asksModel: true });
const counts = (path: RegExp): ModelOperation => ({ method: 'POST', path, asksModel: false });
const reads = (path: RegExp): ModelOperation => ({ method: 'GET', path, asksModel: false });

/** The version may be in the endpoint's base path or in the request's. */
const OPENAI: readonly ModelOperation[] = [
  asks(/^(?:\/v1)?\/responses(?:\/compact)?$/),
  asks(/^(?:\/v1)?\/chat\/completions$/),
  counts(/^(?:\/v1)?\/responses\/input_tokens$/),
  reads(/^(?:\/v1)?\/models(?:\/[^/]+)?$/),
];

const OPERATIONS: Readonly<Record<ModelApi, readonly ModelOperation[]>> = {
  'anthropic-messages': [
    asks(/^(?:\/v1)?\/messages$/),
    counts(/^(?:\/v1)?\/messages\/count_tokens$/),
    reads(/^(?:\/v1)?\/models(?:\/[^/]+)?$/),
  ],
  'openai-responses': OPENAI,
  'openai-chat': OPENAI,
  gemini: [
    asks(/^(?:\/v1(?:alpha|beta)?)?\/models\/[^/:]+:(?:generateContent|streamGenerateContent)$/),
    counts(/^(?:\/v1(?:alpha|beta)?)?\/models\/[^/:]+:countTokens$/),
    reads(/^(?:\/v1(?:alpha|beta)?)?\/models(?:\/[^/:]+)?$/),
  ],
  none: [],
};

/** `path` is normalised and begins after the endpoint's base path. Null for calls that are not forwarded. */
export function findOperation(api: ModelApi, method: string, path: string): ModelOperation | null {
  return OPERATIONS[api].find((one) => one.method === method && one.path.test(path)) ?? null;
}
