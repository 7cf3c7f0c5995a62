/** What the broker remembers of a model's answers beside their usage. */
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { createManualClock, systemClock } from '@caisson/ground';
import { startModelServer, type WireApi } from '@caisson/testkit';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import type { NetworkSettings } from './contract.ts';
import { createModelReach } from './model-reach.ts';
import { cleanUp, openTestNetwork, startOrigin, type TestNetwork } from './network-fixture.ts';

const KEY = 'sk-real-0123456789abcdefghijklmnop';

afterEach(cleanUp);

function post(network: TestNetwork, path: string, body: unknown = {}) {
  const { pathPrefix = '', placeholder = '' } = network.model ?? {};
  return network.ask(`${pathPrefix}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': placeholder, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

type Answer = (response: ServerResponse) => void;

/** Answers each request with the next one of `answers`, and the last one again and again. */
async function openScripted(
  ...script: [Partial<NetworkSettings> | Answer, ...Answer[]]
): Promise<TestNetwork> {
  const [first, ...rest] = script;
  const [settings, answers] = typeof first === 'function' ? [{}, [first, ...rest]] : [first, rest];
  let at = 0;
  const port = await startOrigin((request, response) => {
    request.resume();
    request.once('end', () => answers[Math.min(at++, answers.length - 1)]?.(response));
  });
  const model = { endpoint: `http://127.0.0.1:${port}`, api: 'anthropic-messages', apiKey: KEY } as const;
  return openTestNetwork({ model }, settings);
}

const say = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{"content":[{"type":"text","text":"hello"}]}');
};
const overload = (response: ServerResponse): void => void response.writeHead(529).end();
const cutOff = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('data: {"delta":{"text":"I was ab"}}\n\n', () => response.destroy());
};
const garble = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end('data: }{\n\n');
};
const WITH_TOOLS = { tools: [{ name: 'bash' }] };

const OFFERED: Record<WireApi, [string, Record<string, unknown>]> = {
  'anthropic-messages': [
    '/v1/messages',
    {
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [
        { name: 'bash', input_schema: { type: 'object', properties: { command: { type: 'string' } } } },
      ],
    },
  ],
  'openai-responses': [
    '/v1/responses',
    {
      input: 'hi',
      tools: [
        {
          type: 'function',
          name: 'bash',
          parameters: { type: 'object', properties: { command: { type: 'string' } } },
        },
      ],
    },
  ],
  'openai-chat': [
    '/v1/chat/completions',
    {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'bash',
            parameters: { type: 'object', properties: { command: { type: 'string' } } },
          },
        },
      ],
    },
  ],
  gemini: [
    '/v1beta/models/m-1:',
    {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [
        {
          functionDeclarations: [
            {
              name: 'bash',
              parametersJsonSchema: { type: 'object', properties: { command: { type: 'string' } } },
            },
          ],
        },
      ],
    },
  ],
};

test.each(
  (Object.keys(OFFERED) as WireApi[]).flatMap((api) => [[api, true] as const, [api, false] as const]),
)('a tool that an answer of %s calls is counted once (streamed: %s)', async (api, isStreamed) => {
  const server = await startModelServer({
    script: [{ turns: [{ say: 'I look.', tool: { intent: 'run-command', command: 'ls' } }] }],
    apiKey: KEY,
  });
  onTestFinished(() => server.stop());
  const network = await openTestNetwork({ model: { endpoint: server.url, api, apiKey: KEY } });
  const [path, body] = OFFERED[api];
  const full =
    api === 'gemini' ? `${path}${isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}` : path;
  const reply = await post(network, full, { model: 'm-1', stream: isStreamed, ...body });
  expect(reply.status).toBe(200);
  expect(network.usage?.read()).toMatchObject({ toolCalls: 1, openTool: 'bash', failedInRow: 0 });
});

test('failed answers are counted in a row, whatever failed, until one is usable', async () => {
  const network = await openScripted(overload, cutOff, garble, say, overload);
  const rows: unknown[] = [];
  for (let asked = 0; asked < 5; asked += 1) {
    await post(network, '/v1/messages', WITH_TOOLS).catch(() => undefined);
    await expect.poll(() => network.usage?.read().underWay).toBe(0);
    const { failedInRow, lastFailure } = network.usage?.read() ?? {};
    rows.push([failedInRow, lastFailure?.cause]);
  }
  expect(rows).toEqual([
    [1, 'overloaded'],
    [2, 'stream-cut'],
    [3, 'stream-cut'],
    [0, undefined],
    [1, 'overloaded'],
  ]);
});

test('what fails beside the task, a title, is not the failure of the task', async () => {
  const network = await openScripted(say, overload);
  await post(network, '/v1/messages', WITH_TOOLS);
  await post(network, '/v1/messages', { messages: [] });
  expect(network.usage?.read()).toMatchObject({ failedInRow: 1, lastFailure: null });
});

test('an answer beside the task, a summary, does not end a row of failures of the task', async () => {
  const network = await openScripted(overload, say, overload, say, overload, say);
  const askTask = () => post(network, '/v1/messages', WITH_TOOLS);
  const askBeside = () => post(network, '/v1/messages', { messages: [] });
  for (const ask of [askTask, askBeside, askTask, askBeside]) await ask();
  expect(network.usage?.read()).toMatchObject({ failedInRow: 2, lastFailure: { cause: 'overloaded' } });
  await askTask();
  expect(network.usage?.read()).toMatchObject({ failedInRow: 3, lastFailure: { cause: 'overloaded' } });
  await askTask();
  expect(network.usage?.read()).toMatchObject({ failedInRow: 0, lastFailure: null });
});

test('a client that goes away says nothing of the model', async () => {
  let isAsked = false;
  const network = await openScripted((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"delta":{"text":"I was ab"}}\n\n');
    isAsked = true;
  });
  void post(network, '/v1/messages', WITH_TOOLS).catch(() => undefined);
  await expect.poll(() => isAsked).toBe(true);
  await network.close();
  expect(network.usage?.read()).toMatchObject({ underWay: 0, failedInRow: 0, lastFailure: null });
});

test('a called tool is open until the model is asked again', async () => {
  const call = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{}}]}');
  };
  let hold: ServerResponse | null = null;
  const network = await openScripted(call, (response) => void (hold = response));
  await post(network, '/v1/messages', WITH_TOOLS);
  expect(network.usage?.read().openTool).toBe('Bash');
  const held = post(network, '/v1/messages', WITH_TOOLS);
  await expect.poll(() => hold).not.toBe(null);
  expect(network.usage?.read()).toMatchObject({ openTool: null, toolCalls: 1 });
  if (hold !== null) say(hold);
  await held;
});

test('the time of the model is the time in which it was asked, once for what was asked at once', async () => {
  let nowMs = 1000;
  const held: ServerResponse[] = [];
  const network = await openScripted(
    { clock: { ...systemClock, monotonicMs: () => nowMs } },
    (response) => void held.push(response),
  );
  const both = [post(network, '/v1/messages'), post(network, '/v1/messages')];
  await expect.poll(() => held.length).toBe(2);
  nowMs += 700;
  expect(network.usage?.read().modelMs).toBe(700);
  for (const response of held) say(response);
  await Promise.all(both);
  nowMs += 5000; // a tool runs
  expect(network.usage?.read().modelMs).toBe(700);
});

test('a client that goes away before there is a connection is no failed connection', async () => {
  let asked = 0;
  const silent = createServer(() => (asked += 1)); // takes connections, and never speaks TLS
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  let nowMs = 1000;
  const endpoint = `https://127.0.0.1:${port}`;
  const network = await openTestNetwork(
    { model: { endpoint, api: 'anthropic-messages', apiKey: KEY } },
    { clock: { ...systemClock, monotonicMs: () => nowMs } },
  );
  const { pathPrefix = '', placeholder = '' } = network.model ?? {};
  for (const time of [1, 2, 3]) {
    const client = network.dial();
    client.write(
      `POST ${pathPrefix}/v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${placeholder}\r\ncontent-length: 2\r\n\r\n{}`,
    );
    await expect.poll(() => asked).toBe(time);
    client.destroy();
    await network.recorded(time);
  }
  nowMs += 60_000;
  expect(network.usage?.read().unreachedMs).toBe(0);
});

test('how long no connection was possible counts from the first request, and ends with a connection', () => {
  const clock = createManualClock();
  const reach = createModelReach(clock);
  const since = clock.monotonicMs();
  clock.advance(10_000);
  for (const _try of [1, 2]) reach.unreached(since);
  clock.advance(5000);
  expect(reach.unreachedMs()).toBe(0);
  reach.unreached(clock.monotonicMs());
  expect(reach.unreachedMs()).toBe(15_000);
  reach.connected();
  expect(reach.unreachedMs()).toBe(0);
});
