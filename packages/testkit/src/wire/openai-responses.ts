import { definedOnly } from '@caisson/protocol';
import type { Answer, CountedUsage, ToolCall } from '../answer.ts';
import type { Entry, OfferedTool } from '../conversation.ts';
import { openAiError } from './openai-error.ts';
import { asList, asObject, asText, chunksOf, type Json, type ServerEvent, type Wire } from './wire.ts';

/** OpenAI's Responses API. */
export const openAiResponses: Wire = {
  parse: (body) => ({
    api: 'openai-responses',
    model: asText(body.model),
    isStream: body.stream === true,
    entries:
      typeof body.input === 'string'
        ? [{ kind: 'user', text: body.input }]
        : asList(body.input).flatMap((item) => entriesOf(asObject(item))),
    tools: [...asList(body.tools), ...additionalTools(body.input)].flatMap((tool) => toolsOf(asObject(tool))),
  }),
  stream: (answer) => streamOf(answer),
  whole: (answer) => responseOf(answer, 'completed'),
  error: openAiError,
};

function entriesOf(item: Json): readonly Entry[] {
  const type = asText(item.type);
  if (type.endsWith('_output')) return [{ kind: 'tool-result', text: JSON.stringify(item.output ?? '') }];
  if (type.endsWith('_call')) return [{ kind: 'assistant', text: '', toolCalls: 1 }];
  if (type !== 'message' && type !== '') return [];
  const text =
    typeof item.content === 'string'
      ? item.content
      : asList(item.content)
          .map((part) => asText(asObject(part).text))
          .join('\n');
  if (item.role === 'user') return [{ kind: 'user', text }];
  return item.role === 'assistant' ? [{ kind: 'assistant', text, toolCalls: 0 }] : [];
}

/** Newer models get their tools as an item of the input. */
function additionalTools(input: unknown): readonly unknown[] {
  return asList(input)
    .map(asObject)
    .filter((item) => item.type === 'additional_tools')
    .flatMap((item) => asList(item.tools));
}

function toolsOf(tool: Json): readonly OfferedTool[] {
  const name = asText(tool.name);
  if (tool.type === 'namespace') {
    return asList(tool.tools).flatMap((inner) =>
      toolsOf(asObject(inner)).map((one) => ({ ...one, namespace: name })),
    );
  }
  if (tool.type === 'local_shell') return [{ name: 'local_shell', kind: 'local_shell', parameters: {} }];
  if (tool.type === 'custom')
    return [{ name, kind: 'custom', parameters: {}, description: asText(tool.description) }];
  return tool.type === 'function' ? [{ name, kind: 'function', parameters: asObject(tool.parameters) }] : [];
}

function usageOf(usage: CountedUsage): Json {
  // OpenAI counts cached tokens inside the input.
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheReadTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + usage.outputTokens,
  };
}

function responseOf(answer: Answer, status: 'in_progress' | 'completed' | 'incomplete'): Json {
  const isDone = status !== 'in_progress';
  return {
    id: `resp_${answer.id}`,
    object: 'response',
    created_at: 0,
    status,
    model: answer.model,
    output: isDone ? itemsOf(answer) : [],
    usage: isDone ? usageOf(answer.usage) : null,
    error: null,
    incomplete_details: null,
  };
}

function itemsOf(answer: Answer): readonly Json[] {
  const items: Json[] = [];
  if (answer.text !== '') items.push(messageOf(answer));
  if (answer.call !== null) items.push(callOf(answer.call));
  return items;
}

function messageOf(answer: Answer): Json {
  const content = answer.isRefusal
    ? { type: 'refusal', refusal: answer.text }
    : { type: 'output_text', text: answer.text, annotations: [] };
  return {
    type: 'message',
    id: `msg_${answer.id}`,
    role: 'assistant',
    status: 'completed',
    content: [content],
  };
}

function callOf(call: ToolCall): Json {
  const shared = { id: `item_${call.callId}`, call_id: `call_${call.callId}`, status: 'completed' };
  if (call.kind === 'local_shell') return { type: 'local_shell_call', ...shared, action: call.input };
  const named = {
    ...shared,
    name: call.name,
    ...definedOnly({ namespace: call.namespace }),
  };
  if (typeof call.input === 'string') return { type: 'custom_tool_call', ...named, input: call.input };
  return { type: 'function_call', ...named, arguments: JSON.stringify(call.input) };
}

function streamOf(answer: Answer): readonly ServerEvent[] {
  const events: Json[] = [
    { type: 'response.created', response: responseOf(answer, 'in_progress') },
    ...itemsOf(answer).flatMap((item, index) => itemEvents(item, index, answer)),
    lastEvent(answer),
  ];
  return events.map((event, sequence_number) => ({
    event: asText(event.type),
    data: { ...event, sequence_number },
  }));
}

function lastEvent(answer: Answer): Json {
  if (!answer.isCut) return { type: 'response.completed', response: responseOf(answer, 'completed') };
  const response = responseOf(answer, 'incomplete');
  return {
    type: 'response.incomplete',
    response: { ...response, incomplete_details: { reason: 'max_output_tokens' } },
  };
}

function itemEvents(item: Json, output_index: number, answer: Answer): readonly Json[] {
  const isMessage = item.type === 'message';
  const started = isMessage
    ? { ...item, status: 'in_progress', content: [] }
    : { ...item, status: 'in_progress' };
  const deltas = isMessage ? textEvents(item, output_index, answer) : [];
  return [
    { type: 'response.output_item.added', output_index, item: started },
    ...deltas,
    { type: 'response.output_item.done', output_index, item },
  ];
}

function textEvents(item: Json, output_index: number, answer: Answer): readonly Json[] {
  const at = { item_id: item.id, output_index, content_index: 0 };
  const what = answer.isRefusal ? 'refusal' : 'output_text';
  const field = answer.isRefusal ? 'refusal' : 'text';
  const part = answer.isRefusal
    ? { type: 'refusal', refusal: '' }
    : { type: 'output_text', text: '', annotations: [] };
  return [
    { type: 'response.content_part.added', ...at, part },
    ...chunksOf(answer.text).map((delta) => ({ type: `response.${what}.delta`, ...at, delta })),
    { type: `response.${what}.done`, ...at, [field]: answer.text },
    { type: 'response.content_part.done', ...at, part: { ...part, [field]: answer.text } },
  ];
}
