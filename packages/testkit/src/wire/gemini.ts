import type { Answer, CountedUsage } from '../answer.ts';
import type { Entry } from '../conversation.ts';
import {
  asList,
  asObject,
  asText,
  chunksOf,
  type ErrorKind,
  type Json,
  type ServerEvent,
  type Wire,
} from './wire.ts';

/** Google's Gemini API. The model and the streaming option are in the path. */
export const gemini: Wire = {
  parse: (body, path) => ({
    api: 'gemini',
    model: /\/models\/([^/:]+)/.exec(path)?.[1] ?? '',
    isStream: path.includes(':streamGenerateContent'),
    entries: asList(body.contents).flatMap((content) => entriesOf(asObject(content))),
    tools: asList(body.tools)
      .flatMap((tool) => asList(asObject(tool).functionDeclarations ?? asObject(tool).function_declarations))
      .map((declared) => {
        const { name, parameters, parametersJsonSchema } = asObject(declared);
        return {
          name: asText(name),
          kind: 'function',
          parameters: asObject(parametersJsonSchema ?? parameters),
        };
      }),
  }),
  stream: (answer) => streamOf(answer),
  whole: (answer) => chunkOf(answer, partsOf(answer), true),
  error: (kind, detail) => errorOf(kind, detail),
};

function entriesOf(content: Json): readonly Entry[] {
  const parts = asList(content.parts).map(asObject);
  const text = parts.map((part) => asText(part.text)).join('\n');
  if (content.role === 'model') {
    return [
      { kind: 'assistant', text, toolCalls: parts.filter((part) => part.functionCall !== undefined).length },
    ];
  }
  const results = parts
    .filter((part) => part.functionResponse !== undefined)
    .map((part): Entry => ({ kind: 'tool-result', text: JSON.stringify(part.functionResponse) }));
  return results.length > 0 ? results : [{ kind: 'user', text }];
}

function usageOf(usage: CountedUsage): Json {
  const promptTokenCount = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    promptTokenCount,
    candidatesTokenCount: usage.outputTokens,
    totalTokenCount: promptTokenCount + usage.outputTokens,
    ...(usage.cacheReadTokens === 0 ? {} : { cachedContentTokenCount: usage.cacheReadTokens }),
  };
}

function partsOf(answer: Answer): readonly Json[] {
  const parts: Json[] = answer.isRefusal ? [] : chunksOf(answer.text).map((text) => ({ text }));
  const call = answer.call;
  if (call !== null) {
    const args = typeof call.input === 'string' ? { input: call.input } : call.input;
    parts.push({ functionCall: { name: call.name, args } });
  }
  return parts;
}

function chunkOf(answer: Answer, parts: readonly Json[], isLast: boolean): Json {
  const finish = isLast
    ? { finishReason: answer.isRefusal ? 'SAFETY' : answer.isCut ? 'MAX_TOKENS' : 'STOP' }
    : {};
  const content = parts.length === 0 ? {} : { content: { role: 'model', parts } };
  return {
    candidates: [{ index: 0, ...content, ...finish }],
    ...(isLast ? { usageMetadata: usageOf(answer.usage) } : {}),
    modelVersion: answer.model,
    responseId: answer.id,
  };
}

function streamOf(answer: Answer): readonly ServerEvent[] {
  const parts = partsOf(answer);
  return [...parts.map((part) => chunkOf(answer, [part], false)), chunkOf(answer, [], true)].map((data) => ({
    data,
  }));
}

function errorOf(kind: ErrorKind, detail?: string) {
  const known = {
    '401': {
      status: 401,
      code: 'UNAUTHENTICATED',
      message: 'API key not valid. Please pass a valid API key.',
    },
    '429': {
      status: 429,
      code: 'RESOURCE_EXHAUSTED',
      message: 'Resource has been exhausted (e.g. check quota).',
    },
    '529': { status: 529, code: 'UNAVAILABLE', message: 'The model is overloaded. Please try again later.' },
    '500': { status: 500, code: 'INTERNAL', message: 'An internal error has occurred.' },
    'context-overflow': {
      status: 400,
      code: 'INVALID_ARGUMENT',
      message: 'The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).',
    },
    'bad-request': { status: 400, code: 'INVALID_ARGUMENT', message: 'bad request' },
  }[kind];
  const error = { code: known.status, message: detail ?? known.message, status: known.code };
  return { status: known.status, body: { error } };
}
