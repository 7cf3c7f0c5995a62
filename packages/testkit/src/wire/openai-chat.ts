import type { Answer, CountedUsage, ToolCall } from '../answer.ts';
import type { Entry } from '../conversation.ts';
import { openAiError } from './openai-error.ts';
import { asList, asObject, asText, chunksOf, type Json, type ServerEvent, type Wire } from './wire.ts';

/** OpenAI's chat completions API, which most other vendors speak too. */
export const openAiChat: Wire = {
  parse: (body) => ({
    api: 'openai-chat',
    model: asText(body.model),
    isStream: body.stream === true,
    entries: asList(body.messages).flatMap((message) => entriesOf(asObject(message))),
    tools: asList(body.tools).map((tool) => {
      const declared = asObject(asObject(tool).function);
      return { name: asText(declared.name), kind: 'function', parameters: asObject(declared.parameters) };
    }),
  }),
  stream: (answer) => streamOf(answer),
  whole: (answer) => ({
    ...head(answer, 'chat.completion'),
    choices: [{ index: 0, message: messageOf(answer), finish_reason: finishReasonOf(answer) }],
    usage: usageOf(answer.usage),
  }),
  error: openAiError,
  streamEnd: '[DONE]',
};

function entriesOf(message: Json): readonly Entry[] {
  const text =
    typeof message.content === 'string'
      ? message.content
      : asList(message.content)
          .map((part) => asText(asObject(part).text))
          .join('\n');
  if (message.role === 'tool') return [{ kind: 'tool-result', text }];
  if (message.role === 'assistant')
    return [{ kind: 'assistant', text, toolCalls: asList(message.tool_calls).length }];
  return message.role === 'user' ? [{ kind: 'user', text }] : [];
}

function usageOf(usage: CountedUsage): Json {
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.outputTokens,
    total_tokens: prompt + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens },
  };
}

const head = (answer: Answer, object: string): Json => ({
  id: `chatcmpl-${answer.id}`,
  object,
  created: 0,
  model: answer.model,
});

function finishReasonOf(answer: Answer): string {
  if (answer.isRefusal) return 'content_filter';
  if (answer.isCut) return 'length';
  return answer.call === null ? 'stop' : 'tool_calls';
}

const argumentsOf = (call: ToolCall): string =>
  JSON.stringify(typeof call.input === 'string' ? { input: call.input } : call.input);

function messageOf(answer: Answer): Json {
  const call = answer.call;
  const spoken = answer.isRefusal ? { content: null, refusal: answer.text } : { content: answer.text };
  if (call === null) return { role: 'assistant', ...spoken };
  const declared = { name: call.name, arguments: argumentsOf(call) };
  return {
    role: 'assistant',
    ...spoken,
    tool_calls: [{ id: `call_${call.callId}`, type: 'function', function: declared }],
  };
}

function streamOf(answer: Answer): readonly ServerEvent[] {
  const deltas: Json[] = [{ role: 'assistant', content: '' }];
  for (const piece of chunksOf(answer.text))
    deltas.push(answer.isRefusal ? { refusal: piece } : { content: piece });
  if (answer.call !== null) deltas.push(...callDeltas(answer.call));
  const top = head(answer, 'chat.completion.chunk');
  const chunk = (delta: Json, finish_reason: string | null): ServerEvent => ({
    data: { ...top, choices: [{ index: 0, delta, finish_reason }] },
  });
  return [
    ...deltas.map((delta) => chunk(delta, null)),
    chunk({}, finishReasonOf(answer)),
    { data: { ...top, choices: [], usage: usageOf(answer.usage) } },
  ];
}

function callDeltas(call: ToolCall): readonly Json[] {
  const start = {
    index: 0,
    id: `call_${call.callId}`,
    type: 'function',
    function: { name: call.name, arguments: '' },
  };
  return [
    { tool_calls: [start] },
    ...chunksOf(argumentsOf(call)).map((piece) => ({
      tool_calls: [{ index: 0, function: { arguments: piece } }],
    })),
  ];
}
