import { gzipSync } from 'node:zlib';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { startModelServer, type WireApi } from '@caisson/testkit';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, openTestNetwork, startOrigin, type TestNetwork } from './network-fixture.ts';

const KEY = 'sk-real-0123456789abcdefghijklmnop';
const USAGE = { inputTokens: 1000, outputTokens: 20, cacheReadTokens: 300, cacheWriteTokens: 0 };
const NONE = {
  answers: 0,
  underWay: 0,
  estimated: { answers: 0, inputTokens: 0, outputTokens: 0 },
  isWhole: false,
  refusals: 0,
  lastStop: null,
  pending: [],
  lastFailure: null,
  hasAnswered: false,
  failedInRow: 0,
  toolCalls: 0,
  openTool: null,
  byModel: [],
};

afterEach(cleanUp);

/** Without the times, which are never twice the same. */
function seenOf({ usage }: TestNetwork) {
  const { modelMs: _modelMs, unreachedMs: _ms, ...seen } = usage?.read() ?? { modelMs: 0, unreachedMs: 0 };
  return seen;
}

async function openModel(
  endpoint: string,
  apiKey: string | null = KEY,
  api: WireApi = 'anthropic-messages',
): Promise<TestNetwork> {
  return openTestNetwork({ model: { endpoint, api, apiKey } });
}

function post(network: TestNetwork, path: string, body: unknown = {}) {
  const { pathPrefix = '', placeholder = '' } = network.model ?? {};
  return network.ask(`${pathPrefix}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': placeholder, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function openOrigin(answer: (response: ServerResponse, request: IncomingMessage) => void, key?: null) {
  const port = await startOrigin((request, response) => {
    request.resume();
    request.once('end', () => answer(response, request));
  });
  return openModel(`http://127.0.0.1:${port}`, key === null ? null : KEY);
}

const ASKED: Record<WireApi, [string, Record<string, unknown>]> = {
  'anthropic-messages': ['/v1/messages', { max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }],
  'openai-responses': ['/v1/responses', { input: 'hi' }],
  'openai-chat': ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
  gemini: ['/v1beta/models/m-1:', { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }],
};

test.each((Object.keys(ASKED) as WireApi[]).flatMap((api) => [[api, true] as const, [api, false] as const]))(
  'what an answer of %s used is counted (streamed: %s)',
  async (api, isStreamed) => {
    const server = await startModelServer({
      script: [{ turns: [{ say: 'hello', usage: USAGE }] }],
      apiKey: KEY,
    });
    const network = await openModel(server.url, KEY, api);
    const [path, body] = ASKED[api];
    const full =
      api === 'gemini' ? `${path}${isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}` : path;
    const reply = await post(network, full, {
      model: 'm-1',
      stream: isStreamed,
      ...(api === 'openai-chat' && isStreamed ? { stream_options: { include_usage: true } } : {}),
      ...body,
    });
    expect(reply.status).toBe(200);
    expect(seenOf(network)).toEqual({
      ...NONE,
      hasAnswered: true,
      answers: 1,
      isWhole: true,
      byModel: [{ model: 'm-1', ...USAGE }],
    });
    await server.stop();
  },
);

test.each([[KEY], [null]])('a compressed answer is counted too, with the key %s', async (key) => {
  const network = await openOrigin(
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(
        gzipSync(JSON.stringify({ model: 'm', usage: { prompt_tokens: 7, completion_tokens: 2 } })),
      );
    },
    key === null ? null : undefined,
  );
  const reply = await post(network, '/v1/messages');
  expect(JSON.parse(reply.body)).toMatchObject({ model: 'm' });
  expect(network.usage?.read().byModel).toMatchObject([{ model: 'm', inputTokens: 7, outputTokens: 2 }]);
});

test('an answer that is refused costs nothing', async () => {
  const network = await openOrigin((response) => response.writeHead(429).end());
  await post(network, '/v1/messages');
  expect(seenOf(network)).toEqual({
    ...NONE,
    failedInRow: 1,
    lastFailure: { cause: 'rate-limit', detail: 'the model answered with HTTP 429' },
  });
});

test('an endpoint that cannot be reached, a token count and a list of models are no answers', async () => {
  const nobody = await openModel('http://127.0.0.1:1');
  expect((await post(nobody, '/v1/messages')).status).toBe(502);
  await expect
    .poll(() => seenOf(nobody))
    .toEqual({
      ...NONE,
      failedInRow: 1,
      lastFailure: {
        cause: 'no-connection',
        detail: 'the model could not be reached: connect ECONNREFUSED 127.0.0.1:1',
      },
    });
  const network = await openOrigin((response) => response.end('{"usage":{"input_tokens":5}}'));
  await post(network, '/v1/messages/count_tokens');
  await post(network, '/v1/models');
  expect(seenOf(network)).toEqual(NONE);
});

test('line ends of a stream are plain, wherever its packets were cut', async () => {
  const text = 'event: a\r\ndata: {"model":"m","usage":{"input_tokens":9}}\r\n\r\ndata: b\r\n\r\n';
  const network = await openOrigin((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (at: number): void => {
      if (at === text.length) response.end('\r');
      else response.write(text.charAt(at), () => setImmediate(send, at + 1));
    };
    send(0);
  });
  const reply = await post(network, '/v1/messages');
  expect(reply.body).toBe(`${text.replaceAll('\r', '')}\r`);
  expect(network.usage?.read().byModel).toMatchObject([{ inputTokens: 9 }]);
});

test.each(
  [
    [
      { promptTokenCount: 100 },
      { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 7 },
    ],
    [
      { promptTokenCount: 120, candidatesTokenCount: 3 },
      { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 7 },
    ],
  ]
    .map((pieces) => pieces.map((usageMetadata) => ({ usageMetadata, modelVersion: 'm' })) as object[])
    .concat([
      [
        { model: 'm', usage: { prompt_tokens: 100, completion_tokens: 1 } },
        { usage: { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 60 } } },
      ],
      [
        { type: 'message_start', message: { model: 'm', usage: { input_tokens: 100, output_tokens: 1 } } },
        { type: 'message_delta', usage: { input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 7 } },
      ],
      [
        {
          type: 'message_start',
          message: { model: 'm', usage: { input_tokens: 40, cache_read_input_tokens: 60 } },
        },
        { type: 'message_delta', usage: { input_tokens: 0, output_tokens: 7 } },
      ],
    ])
    .map((pieces) => [pieces]),
)('what a later piece of an answer says of its input holds: %j', async (pieces) => {
  const network = await openOrigin((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join(''));
  });
  await post(network, '/v1/messages');
  expect(network.usage?.read().byModel).toEqual([
    { model: 'm', inputTokens: 40, outputTokens: 7, cacheReadTokens: 60, cacheWriteTokens: 0 },
  ]);
});

test('what was asked beside the task is not its last word, though it is answered later', async () => {
  let hold: ServerResponse | null = null;
  const network = await openOrigin((response, request) => {
    response.setHeader('content-type', 'application/json');
    if (request.url?.includes('title') === true) hold = response;
    else response.end('{"stop_reason":"end_turn"}');
  });
  const main = post(network, '/v1/messages');
  const title = post(network, '/v1/messages?title');
  await main;
  await expect.poll(() => hold !== null).toBe(true);
  (hold as ServerResponse | null)?.end('{"stop_reason":"max_tokens"}');
  await title;
  expect(network.usage?.read()).toMatchObject({ answers: 2, lastStop: null });
});

test.each(['before', 'after'])(
  'a request that is held open %s it hides no early stop of the task',
  async (when) => {
    let hold: ServerResponse | null = null;
    let main: ServerResponse | null = null;
    const network = await openOrigin((response, request) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(' ');
      if (request.url?.includes('held') === true) hold = response;
      else main = response;
    });
    const body = { model: 'm', tools: [{ name: 'bash' }] };
    const start = {
      before: ['/v1/messages?held', '/v1/messages'],
      after: ['/v1/messages', '/v1/messages?held'],
    };
    const asked: Promise<unknown>[] = [];
    for (const [index, path] of start[when as 'before' | 'after'].entries()) {
      asked.push(post(network, path, path.includes('held') ? undefined : body));
      await expect.poll(() => network.usage?.read().answers).toBe(index + 1);
    }
    (main as ServerResponse | null)?.end('{"stop_reason":"max_tokens"}');
    await expect.poll(() => network.usage?.read().lastStop).toBe('max-tokens');
    (hold as ServerResponse | null)?.end('{"stop_reason":"end_turn"}');
    await Promise.all(asked);
  },
);

/** As the vendors write them; each is one event of a stream, or a whole answer. */
const REFUSALS: readonly (readonly [what: string, piece: object])[] = [
  ['Messages, streamed', { type: 'message_delta', delta: { stop_reason: 'refusal' }, usage: {} }],
  ['Messages, whole', { type: 'message', stop_reason: 'refusal', content: [] }],
  ['chat, filtered', { choices: [{ delta: {}, finish_reason: 'content_filter' }] }],
  ['chat, in words', { choices: [{ delta: { refusal: 'I cannot.' }, finish_reason: null }] }],
  ['chat, whole', { choices: [{ message: { content: null, refusal: 'I cannot.' }, finish_reason: 'stop' }] }],
  ['Responses, an event', { type: 'response.refusal.done', refusal: 'I cannot.' }],
  ['Responses, an item', { item: { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] } }],
  ['Responses, filtered', { response: { incomplete_details: { reason: 'content_filter' } } }],
  ['Responses, whole', { output: [{ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }] }],
  ['Gemini, answer', { candidates: [{ finishReason: 'SAFETY' }] }],
  ['Gemini, prompt', { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }],
  ['Code Assist', { response: { candidates: [{ finishReason: 'PROHIBITED_CONTENT' }] } }],
];

test.each(REFUSALS)('a refusal is seen: %s', async (_, piece) => {
  const network = await openOrigin((response, request) => {
    const isStream = request.url?.includes('stream') === true;
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? `data: ${JSON.stringify(piece)}\r\n\r\n` : JSON.stringify(piece));
  });
  await post(network, '/v1/messages');
  expect(network.usage?.read()).toMatchObject({ answers: 1, refusals: 1 });
  await post(network, '/v1/messages?stream');
  expect(network.usage?.read()).toMatchObject({ answers: 2, refusals: 2, lastStop: 'refusal' });
});

test('words about refusals are none', async () => {
  const said = 'SAFETY: the model refused with "stop_reason":"refusal" and content_filter';
  const pieces = [
    { type: 'content_block_delta', delta: { type: 'text_delta', text: said } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
    { choices: [{ delta: { content: said, refusal: null }, finish_reason: 'stop' }] },
    { candidates: [{ content: { parts: [{ text: said }] }, finishReason: 'STOP' }] },
  ];
  const network = await openOrigin((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join(''));
  });
  await post(network, '/v1/messages');
  expect(network.usage?.read()).toMatchObject({ answers: 1, refusals: 0 });
});

test('a refusal beside another answer is not the last word', async () => {
  let hold: ServerResponse | null = null;
  const network = await openOrigin((response, request) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(' ');
    if (request.url?.includes('held') === true) hold = response;
    else response.end('{"stop_reason":"refusal"}');
  });
  const held = post(network, '/v1/messages?held');
  await expect.poll(() => hold !== null && network.usage?.read().answers).toBe(1);
  await post(network, '/v1/messages');
  (hold as ServerResponse | null)?.end('{"stop_reason":"end_turn"}');
  await held;
  expect(network.usage?.read()).toMatchObject({ answers: 2, refusals: 1, lastStop: null });
});

const ERRORS: readonly (readonly [expected: string | null, piece: object])[] = [
  ['overloaded', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
  ['overloaded', { type: 'response.failed', response: { error: { code: 'server_is_overloaded' } } }],
  ['overloaded', { error: { code: 503, status: 'UNAVAILABLE', message: 'later' } }],
  ['rate-limit', { error: { type: 'rate_limit_error' } }],
  ['rate-limit', { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }],
  ['api-error', { type: 'error', error: { type: 'api_error', message: 'overloaded in words only' } }],
  [null, { type: 'response.completed', response: { error: null, usage: { input_tokens: 503 } } }],
];

test.each(ERRORS)('an error inside a stream is reported as %s: %o', async (expected, piece) => {
  const network = await openOrigin((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`event: error\ndata: ${JSON.stringify(piece)}\n\n`);
  });
  await post(network, '/v1/messages');
  expect(network.usage?.read().lastFailure?.cause ?? null).toBe(expected);
});

test.each([
  { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: {} },
  { type: 'message', stop_reason: 'max_tokens', content: [] },
  { choices: [{ delta: {}, finish_reason: 'length' }] },
  { response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } },
  { candidates: [{ finishReason: 'MAX_TOKENS' }] },
])('an answer that was cut at its maximum is seen: %j', async (piece) => {
  const network = await openOrigin((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify(piece)}\n\n`);
  });
  await post(network, '/v1/messages');
  expect(network.usage?.read()).toMatchObject({ refusals: 0, lastStop: 'max-tokens' });
});
