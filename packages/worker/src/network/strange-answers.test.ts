/** A server behind the broker may send anything; none of it may end the attempt or leave its client waiting. */
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { cleanUp, openTestNetwork } from './network-fixture.ts';

afterEach(cleanUp);

/** A server that sends these bytes as its answer; returns its port. */
async function startRaw(answer: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end(answer, 'latin1'));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const BODY = 'content-length: 2\r\n\r\n{}';

test.each([
  ['status 099', `HTTP/1.1 099 Low\r\n${BODY}`, 502],
  ['status 000', `HTTP/1.1 000 None\r\n${BODY}`, 502],
  ['status 999', `HTTP/1.1 999 High\r\n${BODY}`, 999],
  ['another protocol', `HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n`, 502],
  ['only information', `HTTP/1.1 103 Early Hints\r\n\r\n`, 502],
  ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n', 502],
  ['a status with letters', `HTTP/1.1 2OO OK\r\n${BODY}`, 502],
  ['bytes above ASCII in a header', `HTTP/1.1 200 OK\r\nx-name: caf\xe9\r\n${BODY}`, 200],
  ['a header without a name', `HTTP/1.1 200 OK\r\n: x\r\n${BODY}`, 502],
  ['two lengths', `HTTP/1.1 200 OK\r\ncontent-length: 1\r\n${BODY}`, 502],
])('%s', async (_name, answer, status) => {
  const port = await startRaw(answer);
  const model = {
    endpoint: `http://127.0.0.1:${port}`,
    api: 'anthropic-messages' as const,
    apiKey: 'sk-real-0123',
  };
  const network = await openTestNetwork({ model, hosts: [`127.0.0.1:${port}`] });
  const { pathPrefix = '', placeholder = '' } = network.model ?? {};
  const headers = { 'x-api-key': placeholder };
  const asked = await network.ask(`${pathPrefix}/v1/messages`, { method: 'POST', headers, body: '{}' });
  const proxied = await network.ask(`http://127.0.0.1:${port}/`);
  expect([asked.status, proxied.status]).toEqual([status, status]);
  expect(await network.recorded(2)).toHaveLength(2);
});
