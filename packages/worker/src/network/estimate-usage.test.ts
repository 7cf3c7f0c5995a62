import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ModelApi } from '@caisson/protocol';
import { afterEach, expect, test } from 'vitest';
import { tokensOfPiece } from './estimate-usage.ts';
import { cleanUp, openTestNetwork, startOrigin, type TestNetwork } from './network-fixture.ts';

const KEY = 'sk-real-0123456789abcdefghijklmnop';
const QUESTION = JSON.stringify({ model: 'm-1', input: 'q'.repeat(4000) });
const ASKED = Math.ceil(QUESTION.length / 4);

afterEach(cleanUp);

async function openOrigin(
  answer: (response: ServerResponse) => void,
  { api = 'openai-responses', apiKey = KEY }: { api?: ModelApi; apiKey?: string | null } = {},
): Promise<TestNetwork> {
  const port = await startOrigin((request, response) => {
    request.resume().once('end', () => answer(response));
  });
  return openTestNetwork({ model: { endpoint: `http://127.0.0.1:${port}`, api, apiKey } });
}

function post(network: TestNetwork, path = '/responses') {
  const { pathPrefix = '', placeholder = '' } = network.model ?? {};
  const headers = { 'x-api-key': placeholder };
  return network.ask(`${pathPrefix}${path}`, { method: 'POST', headers, body: QUESTION });
}

const events = (...pieces: object[]): string =>
  pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join('');

const delta = (text: string): object => ({
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  delta: text,
});

function expectEstimate(network: TestNetwork, inputTokens: number, outputTokens: number): void {
  expect(network.usage?.read()).toMatchObject({
    answers: 1,
    underWay: 0,
    isWhole: false,
    estimated: { answers: 1, inputTokens, outputTokens },
    byModel: [{ model: 'm-1', inputTokens, outputTokens }],
  });
}

test('an answer without usage is charged by its text and by the bytes of its request', async () => {
  const network = await openOrigin((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${events(delta('abcd'), delta('e'), delta('fgh'))}data: [DONE]\n\n`);
  });
  await post(network);
  expectEstimate(network, ASKED, 3);
});

test('an answer that says it used nothing has not said what it used', async () => {
  const usage = { input_tokens: 0, output_tokens: 0 };
  const network = await openOrigin((response) =>
    response.end(JSON.stringify({ model: 'm-1', output: [{ content: [{ text: 'abcdefgh' }] }], usage })),
  );
  await post(network);
  expectEstimate(network, ASKED, 2);
});

test('an answer that is cut off is charged for what was sent', async () => {
  const network = await openOrigin((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(events(delta('x'.repeat(400))), () => response.destroy());
  });
  await post(network).catch(() => undefined);
  expectEstimate(network, ASKED, 100);
});

test('what a cut answer had said by then holds, and only the rest is estimated', async () => {
  const network = await openOrigin(
    (response) => {
      const usage = { input_tokens: 9, output_tokens: 1 };
      const start = { type: 'message_start', message: { model: 'm-1', usage } };
      const piece = { type: 'content_block_delta', delta: { type: 'text_delta', text: 'x'.repeat(40) } };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(events(start, piece), () => response.destroy());
    },
    { api: 'anthropic-messages' },
  );
  await post(network, '/v1/messages').catch(() => undefined);
  expect(network.usage?.read()).toMatchObject({
    answers: 1,
    estimated: { answers: 1, inputTokens: 0, outputTokens: 10 },
    byModel: [{ model: 'm-1', inputTokens: 9, outputTokens: 10 }],
  });
});

test('a client that goes away before the answer, or in it, leaves an estimate', async () => {
  let asked = 0;
  const network = await openOrigin((response) => {
    asked += 1;
    if (asked === 2) response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (asked === 2) response.write(events(delta('y'.repeat(8))));
  });
  const { pathPrefix = '', placeholder = '' } = network.model ?? {};
  for (const times of [1, 2]) {
    const headers = { 'x-api-key': placeholder };
    const path = `${pathPrefix}/responses`;
    const outgoing = httpRequest({ socketPath: network.socket, path, method: 'POST', headers });
    outgoing.on('error', () => undefined);
    outgoing.end(QUESTION);
    if (times === 1) await expect.poll(() => asked).toBe(1);
    else {
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
      incoming.on('error', () => undefined);
      await once(incoming, 'data');
    }
    outgoing.destroy();
    await expect.poll(() => network.usage?.read().underWay).toBe(0);
  }
  expect(network.usage?.read().estimated).toEqual({
    answers: 2,
    inputTokens: 2 * ASKED,
    outputTokens: 2,
  });
});

test.each([[KEY], [null]])(
  'an answer in an unknown encoding is estimated, with the key %s',
  async (apiKey) => {
    const network = await openOrigin(
      (response) => {
        response.writeHead(200, { 'content-encoding': 'x-odd' });
        response.end('z'.repeat(100));
      },
      { apiKey },
    );
    await post(network);
    expectEstimate(network, ASKED, apiKey === null ? 100 : 0);
  },
);

test('an answer that is no JSON is charged by its bytes, and what is closed with the run is charged too', async () => {
  const broken = await openOrigin((response) => response.end('<html>'.repeat(10)));
  await post(broken);
  expectEstimate(broken, ASKED, 15);
  const hanging = await openOrigin((response) => response.writeHead(200).flushHeaders());
  const reply = post(hanging).catch(() => undefined);
  await expect.poll(() => hanging.usage?.read().answers).toBe(1);
  await hanging.close();
  expectEstimate(hanging, ASKED, 0);
  await reply;
});

test('what is put into the background is charged with the most that it may write', async () => {
  const queued = { object: 'response', model: 'm-1', status: 'queued', background: true, usage: null };
  const network = await openOrigin((response) =>
    response.end(JSON.stringify({ ...queued, max_output_tokens: 5000 })),
  );
  await post(network);
  expectEstimate(network, ASKED, 5000);
  const open = await openOrigin((response) => response.end(JSON.stringify(queued)));
  await post(open);
  expectEstimate(open, ASKED, 128_000);
});

test('the model is the one that the request names, in its body or in its path', async () => {
  const network = await openOrigin((response) => response.end('[]'), { api: 'gemini' });
  const { pathPrefix = '', placeholder = '' } = network.model ?? {};
  const path = `${pathPrefix}/v1beta/models/gemini-x:generateContent?key=${placeholder}`;
  await network.ask(path, { method: 'POST', body: '{"contents":[]}' });
  expect(network.usage?.read().byModel).toMatchObject([{ model: 'gemini-x', inputTokens: 4 }]);
});

test.each([
  [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'abcd' } }, 1],
  [{ type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{"a":12}' } }, 2],
  [{ id: 'chatcmpl-1', object: 'x', choices: [{ delta: { role: 'assistant', content: 'abcd' } }] }, 1],
  [{ choices: [{ delta: { tool_calls: [{ id: 'call_1', function: { arguments: 'abcd' } }] } }] }, 1],
  [{ candidates: [{ content: { parts: [{ text: 'abcdefgh' }], role: 'model' } }], modelVersion: 'm' }, 2],
  [{ type: 'ping' }, 0],
])('the text that a model wrote is what counts in %j', (piece, tokens) => {
  expect(tokensOfPiece(piece)).toBe(tokens);
});
