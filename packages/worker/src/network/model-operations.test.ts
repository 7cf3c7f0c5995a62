import type { ModelApi } from '@caisson/protocol';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, openTestNetwork, startOrigin, type AskOptions, type Reply } from './network-fixture.ts';

const KEY = 'sk-real-0123456789abcdefghijklmnop';

afterEach(cleanUp);

interface Opened {
  readonly seen: string[];
  ask(method: string, path: string, options?: AskOptions): Promise<Reply>;
  readonly usage: () => { answers: number };
  readonly verdicts: () => string[];
}

/** A model behind a base path that answers everything, and remembers what it was asked. */
async function openModel(api: ModelApi, base = '/tenant/'): Promise<Opened> {
  const seen: string[] = [];
  const port = await startOrigin((request, response) => {
    seen.push(`${request.method ?? ''} ${request.url ?? ''}`);
    request.resume().once('end', () => response.end('{"usage":{"input_tokens":5,"output_tokens":1}}'));
  });
  const network = await openTestNetwork({
    model: { endpoint: `http://127.0.0.1:${port}${base}`, api, apiKey: KEY },
  });
  const { pathPrefix, placeholder } = network.model ?? { pathPrefix: '', placeholder: '' };
  return {
    seen,
    verdicts: () => network.records.map(({ verdict }) => verdict),
    usage: () => network.usage?.read() ?? { answers: -1 },
    ask: (method, path, { headers = {} } = {}) =>
      network.ask(`${pathPrefix}${path}`, { method, headers: { 'x-api-key': placeholder, ...headers } }),
  };
}

/** What agents call, and how many answers of a model that makes. */
const ALLOWED: readonly (readonly [ModelApi, number, string, string])[] = [
  ['anthropic-messages', 1, 'POST', '/v1/messages?beta=true'],
  ['anthropic-messages', 0, 'POST', '/v1/messages/count_tokens'],
  ['anthropic-messages', 0, 'GET', '/v1/models?limit=1000'],
  ['anthropic-messages', 0, 'GET', '/v1/models/claude-opus-4-5'],
  ['openai-responses', 1, 'POST', '/responses'],
  ['openai-responses', 1, 'POST', '/v1/responses/compact'],
  ['openai-responses', 0, 'GET', '/models?client_version=0.1'],
  ['openai-chat', 1, 'POST', '/chat/completions'],
  ['gemini', 1, 'POST', '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse'],
  ['gemini', 1, 'POST', '/v1beta/models/gemini-2.5-pro:generateContent'],
  ['gemini', 0, 'POST', '/v1beta/models/gemini-2.5-pro:countTokens'],
  ['gemini', 0, 'GET', '/v1beta/models'],
];

test.each(ALLOWED)('%s passes on, as %i answers: %s %s', async (api, answers, method, path) => {
  const model = await openModel(api);
  expect((await model.ask(method, path)).status).toBe(200);
  expect([model.seen, model.usage().answers]).toEqual([[`${method} /tenant${path}`], answers]);
});

const VERSIONED: readonly (readonly [ModelApi, base: string, asked: string, sent: string])[] = [
  ['anthropic-messages', '/v1', '/v1/messages', '/v1/messages'],
  ['anthropic-messages', '/v1', '/messages', '/v1/messages'],
  ['anthropic-messages', '', '/v1/messages', '/v1/messages'],
  ['anthropic-messages', '/tenant/v1/', '/v1/messages', '/tenant/v1/messages'],
  ['anthropic-messages', '/v1/v1', '/messages', '/v1/messages'],
  ['openai-chat', '/v1', '/v1/v1/chat/completions', '/v1/chat/completions'],
  ['openai-responses', '/v1', '/responses', '/v1/responses'],
  ['gemini', '/v1beta', '/v1beta/models/m:generateContent', '/v1beta/models/m:generateContent'],
  ['gemini', '/v1', '/v1beta/models/m:generateContent', '/v1beta/models/m:generateContent'],
  ['anthropic-messages', '/v1/tenant', '/v1/messages', '/v1/tenant/v1/messages'],
];

test.each(VERSIONED)('%s at an endpoint %s is asked for %s as %s', async (api, base, asked, sent) => {
  const model = await openModel(api, base);
  expect((await model.ask('POST', asked)).status).toBe(200);
  expect([model.seen, model.usage().answers]).toEqual([[`POST ${sent}`], 1]);
});

const REFUSED: readonly (readonly [ModelApi, string, string])[] = [
  ['anthropic-messages', 'GET', '/v1/messages'],
  ['anthropic-messages', 'POST', '/v1/messages/batches'],
  ['anthropic-messages', 'GET', '/v1/files'],
  ['anthropic-messages', 'POST', '/v1/files'],
  ['anthropic-messages', 'GET', '/v1/organizations/api_keys'],
  ['anthropic-messages', 'POST', '/v1/responses'],
  ['openai-responses', 'GET', '/responses/resp_1'],
  ['openai-responses', 'DELETE', '/responses/resp_1'],
  ['openai-responses', 'DELETE', '/models/ft:mine'],
  ['openai-responses', 'POST', '/fine_tuning/jobs'],
  ['openai-responses', 'POST', '/batches'],
  ['openai-responses', 'POST', '/images/generations'],
  ['openai-responses', 'GET', '/files'],
  ['openai-responses', 'POST', '/organization/admin_api_keys'],
  ['openai-chat', 'POST', '/embeddings'],
  ['openai-chat', 'GET', '/chat/completions'],
  ['gemini', 'POST', '/v1beta/models/imagen:predict'],
  ['gemini', 'POST', '/v1beta/models/gemini-2.5-pro:batchGenerateContent'],
  ['gemini', 'POST', '/upload/v1beta/files'],
  ['gemini', 'DELETE', '/v1beta/tunedModels/mine'],
  ['gemini', 'POST', '/batch'],
  ['openai-chat', 'POST', '/Chat/Completions'],
  ['openai-chat', 'OPTIONS', '/chat/completions'],
];

test.each(REFUSED)('%s refuses %s %s, says what to do, and sends nothing on', async (api, method, path) => {
  const model = await openModel(api);
  const reply = await model.ask(method, path);
  expect(reply.status).toBe(403);
  expect(reply.body).toContain(`${method} ${path} is not a call that a run may make to its model`);
  expect(reply.body).toContain('network.services');
  expect([model.seen, model.verdicts()]).toEqual([[], ['denied']]);
});

test('a client that tries the connection gets an answer, and nothing is sent on', async () => {
  const model = await openModel('anthropic-messages');
  expect((await model.ask('HEAD', '/')).status).toBe(200);
  expect((await model.ask('HEAD', '/v1/files')).status).toBe(403);
  expect([model.seen, model.verdicts()]).toEqual([[], ['denied']]);
});

test.each([
  ['/response%73', '/responses'],
  ['/%72%65sponses', '/responses'],
  ['/responses/', '/responses'],
  ['//responses', '/responses'],
  ['/v1///responses//', '/v1/responses'],
  ['/chat%2dx/../', null],
])('the path %s is judged, counted and sent as %s', async (asked, sent) => {
  const model = await openModel('openai-responses');
  const { status } = await model.ask('POST', asked);
  expect([status, model.seen, model.usage().answers]).toEqual(
    sent === null ? [400, [], 0] : [200, [`POST /tenant${sent}`], 1],
  );
});

test.each([
  ...['/response%2573', '/%2572esponses', '/files%2f..%2fresponses', '/x/../responses', '/./responses'],
  ...[
    '/%2e%2e/responses',
    '/responses%2f',
    '/responses%5c',
    '/responses\\',
    '/responses;x=1',
    '/..;/responses',
  ],
  ...[
    '/responses%3bx',
    '/responses%00',
    '/responses%',
    '/responses%zz',
    '/responses%0d%0a',
    '/responses%c3%a4',
  ],
  ...['/responses?%24httpMethod=DELETE', '/responses?_method=DELETE', '/responses?x=1;_method=DELETE'],
])('a target that servers read in different ways is refused: %s', async (asked) => {
  const model = await openModel('openai-responses');
  expect((await model.ask('POST', asked)).status).toBe(400);
  expect([model.seen, model.usage().answers]).toEqual([[], 0]);
});

test('no header makes another call of an allowed one', async () => {
  let seen: unknown;
  const port = await startOrigin((request, response) => {
    seen = Object.keys(request.headers).filter((name) => name.startsWith('x-'));
    response.end('{}');
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const network = await openTestNetwork({ model: { endpoint, api: 'openai-chat', apiKey: KEY } });
  const { pathPrefix, placeholder } = network.model ?? { pathPrefix: '', placeholder: '' };
  await network.ask(`${pathPrefix}/models/mine`, {
    headers: {
      authorization: `Bearer ${placeholder}`,
      'X-HTTP-Method-Override': 'DELETE',
      'x-http-method': 'DELETE',
      'x-method-override': 'DELETE',
      'x-original-url': '/files',
      'x-rewrite-url': '/files',
      'x-stainless-lang': 'js',
    },
  });
  expect(seen).toEqual(['x-stainless-lang']);
});

test('an absolute-form target does not reach the model past its rules', async () => {
  const model = await openModel('openai-chat');
  const reply = await model.ask('POST', '/../../x').then(() => model.ask('POST', '/http://127.0.0.1/files'));
  expect([reply.status, model.seen]).toEqual([403, []]);
});

test('a WebSocket is answered with what makes clients fall back, and is no denial', async () => {
  const model = await openModel('openai-responses');
  const headers = { connection: 'Upgrade', upgrade: 'websocket' };
  const reply = await model.ask('GET', '/responses', { headers });
  expect([reply.status, model.seen, model.verdicts()]).toEqual([426, [], ['failed']]);
});

test('a service is reached with every method and any path below its endpoint, and nowhere else', async () => {
  const seen: string[] = [];
  const port = await startOrigin((request, response) => {
    seen.push(`${request.method ?? ''} ${request.url ?? ''}`);
    response.end('fine');
  });
  const endpoint = `http://127.0.0.1:${port}/api`;
  const network = await openTestNetwork({ services: [{ name: 'git', endpoint, apiKey: KEY }] });
  const { pathPrefix = '', placeholder = '' } = network.services[0] ?? {};
  const headers = { authorization: `Bearer ${placeholder}` };
  const ask = (method: string, path: string) => network.ask(`${pathPrefix}${path}`, { method, headers });
  for (const path of ['/projects/group%2Fname?x=%2e%2e', '/a%20b;v=1/', '/100%'])
    expect([path, (await ask('DELETE', path)).status]).toEqual([path, 200]);
  expect(seen).toEqual([
    'DELETE /api/projects/group%2Fname?x=%2e%2e',
    'DELETE /api/a%20b;v=1/',
    'DELETE /api/100%',
  ]);
  const outside = ['/../other', '/a/%2e%2E/b', '/a/..%2fb', '/a\\..\\b', '/..;/b', '/a/%2e.;x=1/b'];
  for (const path of [...outside, '/%252e%252e/b', '/%zz/%2e%2e/b', `/%${'25'.repeat(9)}2e`])
    expect([path, (await ask('GET', path)).status]).toEqual([path, 400]);
  expect(seen.length).toBe(3);
});
