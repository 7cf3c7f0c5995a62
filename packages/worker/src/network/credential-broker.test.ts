import { gzipSync } from 'node:zlib';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { startModelServer } from '@caisson/testkit';
import { afterEach, expect, test } from 'vitest';
import type { OpenNetwork } from './contract.ts';
import { cleanUp, openTestNetwork, startOrigin, type TestNetwork } from './network-fixture.ts';

const KEY = 'sk-real-0123456789abcdefghijklmnop';

afterEach(cleanUp);

async function openModel(
  endpoint: string,
  api: 'anthropic-messages' | 'openai-responses' | 'gemini' = 'anthropic-messages',
  apiKey: string | null = KEY,
): Promise<TestNetwork & { prefix: string; placeholder: string }> {
  const network = await openTestNetwork({ model: { endpoint, api, apiKey } });
  if (network.model === null) throw new Error('no model was mapped');
  return { ...network, prefix: network.model.pathPrefix, placeholder: network.model.placeholder };
}

test.each([
  ['x-api-key', ''],
  ['authorization', 'Bearer '],
  ['x-goog-api-key', ''],
])('the placeholder in %s goes out as the real key', async (header, scheme) => {
  let seen: unknown;
  const port = await startOrigin((request, response) => {
    seen = { url: request.url, host: request.headers.host, key: request.headers[header] };
    response.end('fine');
  });
  const network = await openModel(`http://127.0.0.1:${port}/base/v1/`);
  const reply = await network.ask(`${network.prefix}/messages?beta=1`, {
    method: 'POST',
    headers: { [header]: `${scheme}${network.placeholder}` },
  });
  expect([reply.status, reply.body]).toEqual([200, 'fine']);
  expect(seen).toEqual({
    url: '/base/v1/messages?beta=1',
    host: `127.0.0.1:${port}`,
    key: `${scheme}${KEY}`,
  });
});

test('a Gemini key in the query is replaced, and the other parameters stay as they are', async () => {
  let url: string | undefined;
  const port = await startOrigin((request, response) => {
    url = request.url;
    response.end();
  });
  const network = await openModel(`http://127.0.0.1:${port}`, 'gemini');
  await network.ask(
    `${network.prefix}/v1beta/models/m:streamGenerateContent?alt=sse&key=${network.placeholder}&x=a%20b`,
    { method: 'POST' },
  );
  expect(url).toBe(`/v1beta/models/m:streamGenerateContent?alt=sse&key=${KEY}&x=a%20b`);
});

test('a scripted model with a key of its own answers through the broker', async () => {
  const model = await startModelServer({ script: [{ turns: [{ say: 'hello' }] }], apiKey: KEY });
  const network = await openModel(model.url);
  const reply = await network.ask(`${network.prefix}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': network.placeholder, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'm',
      max_tokens: 10,
      stream: true,
      messages: [{ role: 'user', content: 'hi' }],
    }),
  });
  await model.stop();
  expect(reply.status).toBe(200);
  expect(reply.body).toContain('hello');
  const [record] = await network.recorded(1);
  expect(record).toMatchObject({ via: 'broker', verdict: 'allowed', detail: 'POST /v1/messages 200' });
  expect(record?.bytesUp).toBeGreaterThan(20);
  expect(record?.bytesDown).toBeGreaterThan(20);
});

test('a request without the placeholder is refused, recorded, and never sent on', async () => {
  let requests = 0;
  const port = await startOrigin((_request, response) => {
    requests += 1;
    response.end();
  });
  const network = await openModel(`http://127.0.0.1:${port}`);
  const without = await network.ask(`${network.prefix}/v1/models`);
  const wrong = await network.ask(`${network.prefix}/v1/models`, { headers: { 'x-api-key': KEY } });
  const elsewhere = await network.ask('/v1/messages', { headers: { 'x-api-key': network.placeholder } });
  expect([without.status, wrong.status, elsewhere.status, requests]).toEqual([403, 403, 403, 0]);
  expect(without.body).toContain('placeholder');
  expect(network.records.map(({ verdict }) => verdict)).toEqual(['denied', 'denied', 'denied']);
});

test('each piece of a streamed answer arrives before the next one is sent', async () => {
  const stream = Promise.withResolvers<ServerResponse>();
  const port = await startOrigin((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"n":0}\n\n');
    stream.resolve(response);
  });
  const network = await openModel(`http://127.0.0.1:${port}`);
  let received = 0;
  const reply = network.ask(`${network.prefix}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': network.placeholder },
    onChunk: () => {
      received += 1;
      void stream.promise.then((response) =>
        received < 4 ? response.write(`data: {"n":${received}}\n\n`) : response.end(),
      );
    },
  });
  expect((await reply).body).toBe('data: {"n":0}\n\ndata: {"n":1}\n\ndata: {"n":2}\n\ndata: {"n":3}\n\n');
  expect(received).toBe(4);
});

test('a server that echoes the key gives the sandbox a mark, in headers and in bodies, plain or compressed', async () => {
  const port = await startOrigin((request, response) => {
    const body = `your key is ${String(request.headers['x-api-key'])}`;
    response.setHeader('x-echo', body);
    response.setHeader('set-cookie', `s=${KEY}`);
    if (request.url !== '/v1/models/gzip') return void response.end(body);
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(body));
  });
  const network = await openModel(`http://127.0.0.1:${port}`);
  for (const path of ['/v1/models/plain', '/v1/models/gzip']) {
    const reply = await network.ask(`${network.prefix}${path}`, {
      headers: { 'x-api-key': network.placeholder },
    });
    expect(reply.body).toBe('your key is [redacted:api-key]');
    expect(reply.headers['x-echo']).toBe('your key is [redacted:api-key]');
    expect(reply.headers['set-cookie']).toBeUndefined();
  }
});

test('a key cannot be fetched in parts that are too short to be found', async () => {
  const port = await startOrigin((request, response) => {
    const [, from = '0', to = '99'] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    response.end(String(request.headers['x-api-key']).slice(Number(from), Number(to) + 1));
  });
  const network = await openModel(`http://127.0.0.1:${port}`);
  const reply = await network.ask(`${network.prefix}/v1/models/key`, {
    headers: { 'x-api-key': network.placeholder, range: 'bytes=0-3', 'if-range': 'x' },
  });
  expect(reply.body).toBe('[redacted:api-key]');
});

test('a redirect of the model is reported in words, not followed and not forwarded', async () => {
  let requests = 0;
  const port = await startOrigin((_request, response) => {
    requests += 1;
    response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end();
  });
  const network = await openModel(`http://127.0.0.1:${port}`);
  const reply = await network.ask(`${network.prefix}/v1/models`, {
    headers: { 'x-api-key': network.placeholder },
  });
  expect([reply.status, reply.headers.location, requests]).toEqual([400, undefined, 1]);
  expect(reply.body).toContain('redirects to http://127.0.0.1:1/elsewhere');
  expect(network.records[0]).toMatchObject({ verdict: 'failed' });
});

test.each([
  ['30', '30'],
  ['3600', undefined],
  [new Date(Date.now() + 3_600_000).toUTCString(), undefined],
  ['soon', 'soon'],
])('a model with retry-after %s reaches the agent as %s', async (said, received) => {
  const port = await startOrigin((_request, response) => {
    response.writeHead(429, { 'retry-after': said }).end();
  });
  const network = await openModel(`http://127.0.0.1:${port}`);
  const reply = await network.ask(`${network.prefix}/v1/models`, {
    headers: { 'x-api-key': network.placeholder },
  });
  expect([reply.status, reply.headers['retry-after']]).toEqual([429, received]);
});

test('a model without a key gets neither key nor placeholder', async () => {
  let headers: unknown;
  const port = await startOrigin((request, response) => {
    headers = request.headers;
    response.end();
  });
  const network = await openModel(`http://127.0.0.1:${port}`, 'openai-responses', null);
  const reply = await network.ask(`${network.prefix}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${network.placeholder}` },
  });
  expect(reply.status).toBe(200);
  expect(JSON.stringify(headers)).not.toContain(network.placeholder);
});

test('an endpoint that does not answer is a 502 that names it, and a failed record', async () => {
  const network = await openModel('http://127.0.0.1:1');
  const reply = await network.ask(`${network.prefix}/v1/models`, {
    headers: { 'x-api-key': network.placeholder },
  });
  expect(reply.status).toBe(502);
  expect(reply.body).toContain('127.0.0.1:1');
  expect(network.records).toMatchObject([{ via: 'broker', target: '127.0.0.1:1', verdict: 'failed' }]);
});

test('a mapped service gets its key in the header it wants', async () => {
  let seen: unknown;
  const port = await startOrigin((request, response) => {
    seen = [request.url, request.headers['private-token']];
    response.end('ok');
  });
  const network = await openTestNetwork({
    services: [
      { name: 'git', endpoint: `http://127.0.0.1:${port}/api`, apiKey: KEY, header: 'Private-Token' },
    ],
  });
  const [service] = network.services;
  const reply = await network.ask(`${service?.pathPrefix}/projects`, {
    headers: { 'private-token': service?.placeholder ?? '' },
  });
  expect([reply.body, seen]).toEqual(['ok', ['/api/projects', KEY]]);
});

test('a server that breaks off gives a broken answer, never one that looks whole', async () => {
  const port = await startOrigin((_request, response) => {
    response.write('half of');
    setImmediate(() => response.socket?.resetAndDestroy());
  });
  const network = await openModel(`http://127.0.0.1:${port}`);
  const asked = network.ask(`${network.prefix}/v1/models`, { headers: { 'x-api-key': network.placeholder } });
  await expect(asked).rejects.toThrow();
  expect(await network.recorded(1)).toMatchObject([{ verdict: 'failed' }]);
});

test('a server that hangs up without an answer is a 502', async () => {
  const port = await startOrigin((request) => request.socket.destroy());
  const network = await openModel(`http://127.0.0.1:${port}`);
  const reply = await network.ask(`${network.prefix}/v1/models`, {
    headers: { 'x-api-key': network.placeholder },
  });
  expect(reply.status).toBe(502);
});

test('a client that goes away ends the request to the server, in the upload and in the answer', async () => {
  const requests: IncomingMessage[] = [];
  const port = await startOrigin((request, response) => {
    requests.push(request);
    if (request.method === 'GET') response.write('first');
    else request.resume();
  });
  const network = await openModel(`http://127.0.0.1:${port}`);
  for (const [index, path] of ['/v1/models', '/v1/messages'].entries()) {
    const outgoing = httpRequest({
      socketPath: network.socket,
      path: `${network.prefix}${path}`,
      method: path === '/v1/models' ? 'GET' : 'POST',
      headers: { 'x-api-key': network.placeholder },
    });
    outgoing.on('error', () => undefined);
    if (path === '/v1/models') {
      outgoing.end();
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
      incoming.on('error', () => undefined);
      await once(incoming, 'data');
    } else {
      outgoing.write('first part');
      await expect.poll(() => requests.length).toBe(2);
    }
    const upstream = requests[index];
    if (upstream === undefined) throw new Error('the request did not arrive');
    const closed = new Promise((resolve) => upstream.socket.once('close', resolve));
    outgoing.destroy();
    await closed;
  }
  expect((await network.recorded(2)).map(({ verdict }) => verdict)).toEqual(['failed', 'failed']);
});

test.each(['GET', 'DELETE', 'POST'])(
  'a %s cannot hide a second request in its body by naming content-length in Connection',
  async (method) => {
    const urls: unknown[] = [];
    const port = await startOrigin((request, response) => {
      urls.push(request.url);
      request.resume().on('end', () => response.end('fine'));
    });
    const network = await openTestNetwork({
      services: [{ name: 'git', endpoint: `http://127.0.0.1:${port}/base`, apiKey: KEY }],
    });
    const [{ pathPrefix, placeholder }] = network.services as [OpenNetwork['services'][number]];
    const second = 'GET /outside HTTP/1.1\r\nHost: x\r\n\r\n';
    const reply = await network.ask(`${pathPrefix}/a`, {
      method,
      headers: {
        authorization: `Bearer ${placeholder}`,
        connection: 'content-length, close',
        'content-length': String(second.length),
      },
      body: second,
    });
    const after = await network.ask(`${pathPrefix}/b`, {
      headers: { authorization: `Bearer ${placeholder}` },
    });
    expect([reply.body, after.body, urls]).toEqual(['fine', 'fine', ['/base/a', '/base/b']]);
  },
);

test('a key in the words beside the status is not handed on', async () => {
  const port = await startOrigin((request, response) => {
    response.writeHead(200, String(request.headers['x-api-key'])).end('fine');
  });
  const network = await openModel(`http://127.0.0.1:${port}`);
  const socket = network.dial();
  socket.write(
    `GET ${network.prefix}/v1/models HTTP/1.1\r\nhost: x\r\nx-api-key: ${network.placeholder}\r\nconnection: close\r\n\r\n`,
  );
  const answer = (await socket.setEncoding('utf8').toArray()).join('');
  expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  expect(answer).not.toContain(KEY);
});
