/** Four wire formats, written from the vendors' public pages and not from the testkit: one turn as the events of a stream. */
export type Api = 'messages' | 'responses' | 'chat' | 'gemini';
export type Json = Readonly<Record<string, unknown>>;

export interface Counted {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

export interface Turn {
  readonly id: string;
  readonly model: string;
  readonly usage: Counted;
  readonly thought?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly input: Json }[];
  /** `busy`: the stream breaks off with an error. */
  readonly stop?: 'cut' | 'refused' | 'busy';
}

export const EVENTS: Readonly<Record<Api, (turn: Turn) => readonly Json[]>> = {
  messages,
  responses,
  chat,
  gemini,
};

const pieces = (text: string): readonly string[] => text.match(/.{1,3}/gsu) ?? [];

function messages({ id, model, usage, thought, text, calls = [], stop }: Turn): readonly Json[] {
  const counted = { input_tokens: usage.input, cache_read_input_tokens: usage.cached };
  const events: Json[] = [
    {
      type: 'message_start',
      message: {
        id,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        usage: counted,
        container: null,
      },
    },
    { type: 'ping' },
  ];
  let index = 0;
  const block = (begun: Json, deltas: readonly Json[]): void => {
    events.push({ type: 'content_block_start', index, content_block: begun });
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta });
    events.push({ type: 'content_block_stop', index });
    index += 1;
  };
  if (thought !== undefined)
    block({ type: 'thinking', thinking: '', signature: '' }, [
      ...pieces(thought).map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: 'c2lnbmVk' },
    ]);
  if (text !== undefined)
    block(
      { type: 'text', text: '' },
      pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
    );
  if (stop === 'busy')
    return [...events, { type: 'error', error: { type: 'overloaded_error', message: '…' } }];
  for (const [nth, { name, input }] of calls.entries())
    block(
      { type: 'tool_use', id: `toolu_${id}_${nth}`, name, input: {} },
      pieces(JSON.stringify(input)).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    );
  const whole = calls.length === 0 ? 'end_turn' : 'tool_use';
  const stop_reason = stop === 'cut' ? 'max_tokens' : stop === 'refused' ? 'refusal' : whole;
  return [
    ...events,
    { type: 'message_delta', delta: { stop_reason }, usage: { ...counted, output_tokens: usage.output } },
    { type: 'message_stop' },
  ];
}

function responses({ id, model, usage, thought, text, calls = [], stop }: Turn): readonly Json[] {
  const response = { id, object: 'response', created_at: 1, model, status: 'in_progress', output: [] };
  const events: Json[] = [{ type: 'response.created', response }];
  const done: Json[] = [];
  const item = (begun: Json, whole: Json, between: readonly Json[]): void => {
    const output_index = done.length;
    events.push({ type: 'response.output_item.added', output_index, item: begun });
    for (const event of between) events.push({ ...event, item_id: begun['id'], output_index });
    events.push({ type: 'response.output_item.done', output_index, item: whole });
    done.push(whole);
  };
  if (thought !== undefined) {
    const begun = { type: 'reasoning', id: `rs_${id}`, summary: [] };
    item(begun, { ...begun, summary: [{ type: 'summary_text', text: thought }] }, []);
  }
  if (text !== undefined || stop === 'refused') {
    const begun = { type: 'message', id: `msg_${id}`, role: 'assistant', content: [] };
    const part =
      stop === 'refused'
        ? { type: 'refusal', refusal: 'No.' }
        : { type: 'output_text', text, annotations: [] };
    const deltas = stop === 'refused' ? [] : pieces(text ?? '');
    const type = 'response.output_text.delta';
    item(
      begun,
      { ...begun, content: [part] },
      deltas.map((delta) => ({ type, content_index: 0, delta })),
    );
  }
  if (stop === 'busy') {
    const error = { code: 'server_is_overloaded', message: 'Our servers are overloaded.' };
    return [...events, { type: 'response.failed', response: { ...response, status: 'failed', error } }];
  }
  for (const [nth, { name, input }] of calls.entries()) {
    const begun = { type: 'function_call', id: `fc_${id}_${nth}`, call_id: `call_${id}_${nth}`, name };
    item({ ...begun, arguments: '' }, { ...begun, arguments: JSON.stringify(input) }, []);
  }
  const counted = {
    input_tokens: usage.input + usage.cached,
    input_tokens_details: { cached_tokens: usage.cached },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 1 },
    total_tokens: usage.input + usage.cached + usage.output,
  };
  const how = stop === 'cut' ? 'incomplete' : 'completed';
  const why = stop === 'cut' ? { incomplete_details: { reason: 'max_output_tokens' } } : {};
  const last = { ...response, status: how, output: done, usage: counted, ...why };
  return [...events, { type: `response.${how}`, response: last }];
}

function chat({ id, model, usage, thought, text, calls = [], stop }: Turn): readonly Json[] {
  const top = { id, object: 'chat.completion.chunk', created: 1, model, system_fingerprint: 'fp' };
  const chunk = (delta: Json, finish_reason: string | null = null): Json => ({
    ...top,
    choices: [{ index: 0, delta, finish_reason, logprobs: null }],
  });
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(thought ?? '').map((reasoning_content) => chunk({ reasoning_content })),
    ...pieces(text ?? '').map((content) => chunk({ content })),
  ];
  if (stop === 'busy')
    return [...events, { error: { code: 503, type: 'server_error', message: 'overloaded' } }];
  for (const [index, { name, input }] of calls.entries()) {
    const call = { index, id: `call_${id}_${index}`, type: 'function' };
    events.push(chunk({ tool_calls: [{ ...call, function: { name, arguments: '' } }] }));
    for (const piece of pieces(JSON.stringify(input)))
      events.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
  }
  const whole = calls.length === 0 ? 'stop' : 'tool_calls';
  const counted = {
    prompt_tokens: usage.input + usage.cached,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.cached + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached, audio_tokens: 0 },
  };
  return [
    ...events,
    chunk({}, stop === 'cut' ? 'length' : stop === 'refused' ? 'content_filter' : whole),
    { ...top, choices: [], usage: counted },
  ];
}

function gemini({ id, model, usage, thought, text, calls = [], stop }: Turn): readonly Json[] {
  const piece = (parts: readonly Json[], more: Json = {}): Json => ({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
    modelVersion: model,
    responseId: id,
  });
  const events = [
    ...(thought === undefined ? [] : [piece([{ text: thought, thought: true }])]),
    ...pieces(text ?? '').map((part) => piece([{ text: part }])),
  ];
  if (stop === 'busy')
    return [...events, { error: { code: 503, status: 'UNAVAILABLE', message: 'overloaded' } }];
  if (calls.length > 0)
    events.push(piece(calls.map(({ name, input }) => ({ functionCall: { name, args: input } }))));
  const finishReason = stop === 'cut' ? 'MAX_TOKENS' : stop === 'refused' ? 'SAFETY' : 'STOP';
  const usageMetadata = {
    promptTokenCount: usage.input + usage.cached,
    cachedContentTokenCount: usage.cached,
    candidatesTokenCount: usage.output,
    totalTokenCount: usage.input + usage.cached + usage.output,
  };
  return [...events, { ...piece([], { finishReason }), usageMetadata }];
}
