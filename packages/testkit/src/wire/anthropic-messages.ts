import type { Answer, CountedUsage } from '../answer.ts';
import type { Entry, OfferedTool } from '../conversation.ts';
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

/** Anthropic's Messages API. */
export const anthropicMessages: Wire = {
  parse: (body) => ({
    api: 'anthropic-messages',
    model: asText(body.model),
    isStream: body.stream === true,
    entries: asList(body.messages).flatMap((message) => entriesOf(asObject(message))),
    tools: asList(body.tools).map((tool) => toolOf(asObject(tool))),
  }),
  stream: (answer) => [...streamHead(answer), ...streamBlocks(answer), ...streamTail(answer)],
  whole: (answer) => ({
    id: `msg_${answer.id}`,
    type: 'message',
    role: 'assistant',
    model: answer.model,
    content: blocksOf(answer),
    stop_reason: stopReasonOf(answer),
    stop_sequence: null,
    usage: usageOf(answer.usage),
  }),
  error: (kind, detail) => errorOf(kind, detail),
};

function entriesOf(message: Json): readonly Entry[] {
  const blocks =
    typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : asList(message.content);
  const parts = blocks.map(asObject);
  const text = parts.map((part) => asText(part.text)).join('\n');
  if (message.role === 'assistant') {
    return [{ kind: 'assistant', text, toolCalls: parts.filter((part) => part.type === 'tool_use').length }];
  }
  const results = parts
    .filter((part) => part.type === 'tool_result')
    .map((part): Entry => ({ kind: 'tool-result', text: JSON.stringify(part.content ?? '') }));
  return results.length > 0 ? results : [{ kind: 'user', text }];
}

function toolOf(tool: Json): OfferedTool {
  return { name: asText(tool.name), kind: 'function', parameters: asObject(tool.input_schema) };
}

function blocksOf(answer: Answer): readonly Json[] {
  const text = answer.text === '' ? [] : [{ type: 'text', text: answer.text }];
  const call = answer.call;
  return call === null
    ? text
    : [
        ...text,
        { type: 'tool_use', id: `toolu_${call.callId}`, name: call.name, input: inputOf(call.input) },
      ];
}

const inputOf = (input: Json | string): Json => (typeof input === 'string' ? { input } : input);

function stopReasonOf(answer: Answer): string {
  if (answer.isRefusal) return 'refusal';
  if (answer.isCut) return 'max_tokens';
  return answer.call === null ? 'end_turn' : 'tool_use';
}

function usageOf(usage: CountedUsage): Json {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
  };
}

const typed = (data: Json & { type: string }): ServerEvent => ({ event: data.type, data });

function streamHead(answer: Answer): readonly ServerEvent[] {
  const message = {
    id: `msg_${answer.id}`,
    type: 'message',
    role: 'assistant',
    model: answer.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usageOf(answer.usage), output_tokens: 1 },
  };
  return [typed({ type: 'message_start', message })];
}

function streamBlocks(answer: Answer): readonly ServerEvent[] {
  return blocksOf(answer).flatMap((block, index) => {
    const isText = block.type === 'text';
    const content_block = isText ? { type: 'text', text: '' } : { ...block, input: {} };
    const pieces = isText ? chunksOf(asText(block.text)) : chunksOf(JSON.stringify(block.input));
    const deltas = pieces.map((piece) =>
      typed({
        type: 'content_block_delta',
        index,
        delta: isText
          ? { type: 'text_delta', text: piece }
          : { type: 'input_json_delta', partial_json: piece },
      }),
    );
    return [
      typed({ type: 'content_block_start', index, content_block }),
      ...deltas,
      typed({ type: 'content_block_stop', index }),
    ];
  });
}

function streamTail(answer: Answer): readonly ServerEvent[] {
  const delta = { stop_reason: stopReasonOf(answer), stop_sequence: null };
  return [
    typed({ type: 'message_delta', delta, usage: usageOf(answer.usage) }),
    typed({ type: 'message_stop' }),
  ];
}

function errorOf(kind: ErrorKind, detail?: string) {
  const known = {
    '401': { status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
    '429': { status: 429, type: 'rate_limit_error', message: 'This request would exceed your rate limit.' },
    '529': { status: 529, type: 'overloaded_error', message: 'Overloaded' },
    '500': { status: 500, type: 'api_error', message: 'Internal server error' },
    'context-overflow': {
      status: 400,
      type: 'invalid_request_error',
      message: 'prompt is too long: 250000 tokens > 200000 maximum',
    },
    'bad-request': { status: 400, type: 'invalid_request_error', message: 'bad request' },
  }[kind];
  const error = { type: known.type, message: detail ?? known.message };
  const body = { type: 'error', error, request_id: 'req_testkit' };
  return { status: known.status, body, ...(kind === '429' ? { headers: { 'retry-after': '1' } } : {}) };
}
