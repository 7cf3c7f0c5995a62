/** The sandbox chooses how a body is cut: one byte per chunk must cost about as much memory as one piece. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { systemClock } from '@caisson/ground';
import { afterEach, expect, test } from 'vitest';
import { gatherChunks } from './gather-chunks.ts';
import { cleanUp, openTestNetwork, startOrigin, type TestNetwork } from './network-fixture.ts';
import { createUsageCounter } from './usage-counter.ts';

const MB = 1024 * 1024;
const ONE_BYTE_CHUNKS = '1\r\nx\r\n'.repeat(20_000);

afterEach(cleanUp);

function usedMegabytes(): number {
  return process.memoryUsage().rss / MB;
}

function openModel(port: number): Promise<TestNetwork> {
  const model = {
    endpoint: `http://127.0.0.1:${port}`,
    api: 'anthropic-messages' as const,
    apiKey: 'sk-real',
  };
  return openTestNetwork({ model });
}

function beginPost(network: TestNetwork): Socket {
  const { pathPrefix = '', placeholder = '' } = network.model ?? {};
  const client = network.dial();
  client.on('error', () => undefined);
  client.write(
    `POST ${pathPrefix}/v1/messages HTTP/1.1\r\nhost: model\r\nx-api-key: ${placeholder}\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  return client;
}

test('a body in chunks of one byte arrives whole', async () => {
  let received = 0;
  const port = await startOrigin((request, response) => {
    request.on('data', (chunk: Buffer) => void (received += chunk.length));
    request.once('end', () => response.end('{}'));
  });
  const network = await openModel(port);
  const client = beginPost(network);
  client.write(`${ONE_BYTE_CHUNKS.repeat(5)}0\r\n\r\n`);
  expect(String((await once(client, 'data'))[0])).toMatch(/^HTTP\/1\.1 200/);
  client.destroy();
  expect([received, await network.recorded(1)]).toMatchObject([100_000, [{ bytesUp: 100_000 }]]);
});

test('chunks that wait for a slow reader are one piece, and its socket is not read meanwhile', async () => {
  const arrived = Promise.withResolvers<IncomingMessage>();
  const port = await startOrigin((request) => arrived.resolve(request));
  const client = connect(port, '127.0.0.1');
  client.write(`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n`);
  const message = await arrived.promise;
  const { socket } = message;
  const body = gatherChunks(message, () => undefined);
  client.write(`${ONE_BYTE_CHUNKS.repeat(20)}0\r\n\r\n`);
  await expect.poll(() => socket.bytesRead).toBeGreaterThan(10_000);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([socket.isPaused(), socket.bytesRead < 3 * 65_536]).toEqual([true, true]);
  const pieces: number[] = [];
  for await (const piece of body) pieces.push((piece as Buffer).length);
  expect([pieces.length < 200, pieces.reduce((sum, bytes) => sum + bytes, 0)]).toEqual([true, 400_000]);
  client.destroy();
});

test('what a request brought in chunks of one byte costs about as much memory as it has bytes', () => {
  const counter = createUsageCounter(systemClock);
  const all = Buffer.alloc(1_000_000, 'x');
  const before = usedMegabytes();
  const request = counter.ask('/v1/messages');
  for (let at = 0; at < all.length; at += 1) request.send(all.subarray(at, at + 1));
  expect(usedMegabytes() - before).toBeLessThan(60);
  request.closed(false);
});

test('an answer in chunks of one byte arrives whole', async () => {
  const port = await startOrigin((request, response) => {
    request.resume();
    response.flushHeaders();
    response.socket?.write(`${ONE_BYTE_CHUNKS.repeat(5)}0\r\n\r\n`);
  });
  const network = await openTestNetwork({ hosts: [`127.0.0.1:${port}`] });
  const reply = await network.ask(`http://127.0.0.1:${port}/`);
  expect([reply.status, reply.body.length]).toEqual([200, 100_000]);
});

test('a request is read once, when it is complete', () => {
  const counter = createUsageCounter(systemClock);
  const request = counter.ask('/v1/messages');
  request.send(Buffer.from('{"model":"claude-opus-4-5"}'));
  const pending = () => counter.read().pending.map(({ model, inputTokens }) => [model, inputTokens]);
  expect(pending()).toEqual([['', 7]]);
  request.sentAll();
  expect(pending()).toEqual([['claude-opus-4-5', 7]]);
});

test('beyond 32 MB under way requests are only counted, and memory of those that ended is free again', () => {
  const counter = createUsageCounter(systemClock);
  const large = Buffer.from(`{"model":"large","padding":"${'x'.repeat(8 * MB - 40)}"}`);
  const begin = () => {
    const request = counter.ask('/v1/messages');
    request.send(large);
    return request;
  };
  const open = [begin(), begin(), begin(), begin(), begin()];
  for (const request of open) request.sentAll();
  const after = begin();
  after.sentAll();
  expect(counter.read().pending.map(({ model }) => model)).toEqual([
    ...['large', 'large', 'large', 'large'],
    ...['', 'large'],
  ]);
});
