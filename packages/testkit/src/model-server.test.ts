import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startModelServer, type ModelServer, type ModelServerOptions } from './index.ts';

const running: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function serve(options: ModelServerOptions): Promise<ModelServer> {
  const server = await startModelServer(options);
  running.push(server);
  return server;
}

function post(server: ModelServer, path: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const schema = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((n) => [n, {}])),
});
const claudeTools = [
  { name: 'Write', input_schema: schema('file_path', 'content') },
  { name: 'Bash', input_schema: schema('command', 'description') },
];
const asked = (text: string) => ({ role: 'user', content: text });
const done = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }] };
const called = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Write', input: {} }] };

const writeThenSay = [
  {
    tool: { intent: 'write-file' as const, path: 'a.txt', content: 'hi' },
    usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 3 },
  },
  { say: 'written', usage: { inputTokens: 20, outputTokens: 4 } },
];

test('the same script is spoken in four wire formats with the tools each client offers', async () => {
  const server = await serve({ script: writeThenSay });
  const anthropic = await post(server, '/v1/messages', {
    model: 'm',
    messages: [asked('go')],
    tools: claudeTools,
  });
  expect(await anthropic.json()).toMatchObject({
    content: [{ type: 'tool_use', name: 'Write', input: { file_path: 'a.txt', content: 'hi' } }],
    stop_reason: 'tool_use',
    usage: { input_tokens: 10, output_tokens: 2, cache_read_input_tokens: 3 },
  });
  const responses = await post(server, '/v1/responses', {
    model: 'm',
    input: [asked('go')],
    tools: [{ type: 'custom', name: 'apply_patch' }],
  });
  expect(await responses.json()).toMatchObject({
    output: [
      {
        type: 'custom_tool_call',
        name: 'apply_patch',
        input: '*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\n',
      },
    ],
    usage: { input_tokens: 13, input_tokens_details: { cached_tokens: 3 }, output_tokens: 2 },
  });
  const chat = await post(server, '/v1/chat/completions', {
    model: 'm',
    messages: [asked('go')],
    tools: [{ type: 'function', function: { name: 'write', parameters: schema('filePath', 'content') } }],
  });
  expect(await chat.json()).toMatchObject({
    choices: [
      {
        message: {
          tool_calls: [{ function: { name: 'write', arguments: '{"filePath":"a.txt","content":"hi"}' } }],
        },
      },
    ],
  });
  const gemini = await post(server, '/v1beta/models/g:generateContent', {
    contents: [{ role: 'user', parts: [{ text: 'go' }] }],
    tools: [
      {
        functionDeclarations: [{ name: 'write_file', parametersJsonSchema: schema('file_path', 'content') }],
      },
    ],
  });
  expect(await gemini.json()).toMatchObject({
    candidates: [
      { content: { parts: [{ functionCall: { name: 'write_file', args: { file_path: 'a.txt' } } }] } },
    ],
    usageMetadata: { promptTokenCount: 13, candidatesTokenCount: 2, cachedContentTokenCount: 3 },
  });
  expect(server.usage()).toEqual({
    inputTokens: 40,
    outputTokens: 8,
    cacheReadTokens: 12,
    cacheWriteTokens: 0,
  });
});

test('the position in the script comes from the conversation, so a repeated request gets the same answer', async () => {
  const server = await serve({ script: writeThenSay });
  const body = { model: 'm', messages: [asked('go'), called, done], tools: claudeTools };
  for (let index = 0; index < 2; index += 1) {
    const reply = await post(server, '/v1/messages', body);
    expect(await reply.json()).toMatchObject({
      content: [{ type: 'text', text: 'written' }],
      stop_reason: 'end_turn',
    });
  }
});

test('scripts are selected by the newest prompt, and a resumed session starts its own script', async () => {
  const server = await serve({
    script: [
      { when: 'apples', turns: [{ say: 'about apples' }] },
      { when: 'pears', turns: [{ say: 'about pears' }] },
      { turns: [{ say: 'about anything' }] },
    ],
  });
  const say = async (...messages: unknown[]) => {
    const reply = await post(server, '/v1/messages', { model: 'm', messages });
    return ((await reply.json()) as { content: { text: string }[] }).content[0]?.text;
  };
  expect(await say(asked('tell me of apples'))).toBe('about apples');
  expect(
    await say(asked('of apples'), { role: 'assistant', content: 'about apples' }, asked('now pears')),
  ).toBe('about pears');
  expect(await say(asked('hello'))).toBe('about anything');
});

test('a client without a fitting tool gets a text that says so', async () => {
  const server = await serve({ script: writeThenSay });
  const reply = await post(server, '/v1/messages', { model: 'm', messages: [asked('go')], tools: [] });
  expect(await reply.json()).toMatchObject({
    content: [{ type: 'text', text: 'No offered tool can do "write-file". Offered: none.' }],
  });
});

test.each([
  ['401', 401],
  ['429', 429],
  ['529', 529],
  ['500', 500],
  ['context-overflow', 400],
] as const)(
  'fault %s is answered with status %i in every format and costs nothing',
  async (fault, status) => {
    const server = await serve({ script: [{ fault }] });
    const statuses = await Promise.all([
      post(server, '/v1/messages', { messages: [asked('x')] }),
      post(server, '/v1/responses', { input: 'x' }),
      post(server, '/v1/chat/completions', { messages: [asked('x')] }),
      post(server, '/v1beta/models/g:streamGenerateContent?alt=sse', { contents: [] }),
    ]);
    expect(statuses.map((reply) => reply.status)).toEqual([status, status, status, status]);
    expect(server.usage().outputTokens).toBe(0);
  },
);

test('a fault with times happens that often and then stops', async () => {
  const server = await serve({ script: [{ fault: '529', times: 2, say: 'at last' }] });
  const ask = () => post(server, '/v1/messages', { messages: [asked('x')] });
  expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([529, 529, 200]);
});

test('an answer comes after the time that the model thinks', async () => {
  const server = await serve({ script: [{ say: 'well', afterMs: 200 }] });
  const startedAt = performance.now();
  expect((await post(server, '/v1/messages', { messages: [asked('x')] })).status).toBe(200);
  expect(performance.now() - startedAt).toBeGreaterThan(195);
});

test('a cut answer ends its connection and is not charged', async () => {
  const server = await serve({ script: [{ say: 'this will not arrive', fault: 'cut' }] });
  const reply = await post(server, '/v1/messages', { stream: true, messages: [asked('x')] });
  await expect(reply.text()).rejects.toThrow();
  expect(server.usage().outputTokens).toBe(0);
});

test('a stalled answer stays open until the client leaves', async () => {
  const server = await serve({ script: [{ say: 'this will not arrive', fault: 'stall' }] });
  const leave = new AbortController();
  const reply = await fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify({ stream: true, messages: [asked('x')] }),
    signal: leave.signal,
  });
  const reader = reply.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  leave.abort();
  await expect(reader?.read()).rejects.toThrow();
});

test('a dripping stream still adds up to a whole answer', async () => {
  const server = await serve({ script: [{ say: 'grüße, slowly', fault: 'drip' }] });
  const reply = await post(server, '/v1/chat/completions', { stream: true, messages: [asked('x')] });
  const text = await reply.text();
  expect(text).toContain('grüße, slowly');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});

test('a wrong key is a 401 whichever header carries it', async () => {
  const server = await serve({ script: [{ say: 'hi' }], apiKey: 'right' });
  const body = { messages: [asked('x')] };
  expect((await post(server, '/v1/messages', body)).status).toBe(401);
  expect((await post(server, '/v1/messages', body, { 'x-api-key': 'right' })).status).toBe(200);
  expect((await post(server, '/v1/messages', body, { authorization: 'Bearer right' })).status).toBe(200);
  expect((await post(server, '/v1beta/models/g:generateContent?key=right', { contents: [] })).status).toBe(
    200,
  );
});

test('a format that is not served is a 404, and every request is recorded', async () => {
  const server = await serve({ script: [{ say: 'hi' }], apis: ['gemini'] });
  expect((await post(server, '/v1/messages', { messages: [] })).status).toBe(404);
  const seen = await server.waitForRequest((request) => request.api === 'anthropic-messages');
  expect(seen).toMatchObject({ method: 'POST', path: '/v1/messages', body: { messages: [] } });
});

test('a server can listen on a UNIX socket', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'testkit-'));
  try {
    const socketPath = join(folder, 'model.sock');
    await serve({ script: [{ say: 'hi' }], socketPath });
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const call = httpRequest({ socketPath, path: '/v1/messages', method: 'POST' }, (reply) => {
        reply.resume();
        resolve(reply.statusCode);
      });
      call.on('error', reject).end(JSON.stringify({ messages: [asked('x')] }));
    });
    expect(status).toBe(200);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test.each([
  [[{ fault: 401 }], /^script\[0\]\.fault: one of 401, .* is expected, not 401/],
  [[{ say: 'hi' }, { sya: 'hi' }], /^script\[1\]: unknown: sya/],
  [{ turns: [{ fault: '429', time: 2 }] }, /^script\.turns\[0\]: unknown: time/],
  [[{ wehn: 'x', turns: [{ say: 'hi' }] }], /^script\[0\]: unknown: wehn/],
  [[{ when: 'x', turns: [{ say: 'hi' }] }, { say: 'hi' }], /^script\[1\]: unknown: say/m],
  [[{ usage: { input: 3 } }], /^script\[0\]\.usage: unknown: input/],
  [[{ tool: { intent: 'write-file', path: 'a', contents: 'x' } }], /^script\[0\]\.tool: unknown: contents/m],
  [[{ tool: { intent: 'write' } }], /^script\[0\]\.tool\.intent: an "intent" that is known is expected/],
  ['hello', /^script: object is expected, not "hello"/],
])('a script that is none is refused with the place of the mistake: %j', async (script, message) => {
  const wrong = script as unknown as Parameters<typeof startModelServer>[0]['script'];
  await expect(startModelServer({ script: wrong })).rejects.toThrow(message);
});
