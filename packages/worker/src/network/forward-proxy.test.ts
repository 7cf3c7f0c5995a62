import { createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, openTestNetwork, startOrigin, type TestNetwork } from './network-fixture.ts';

afterEach(cleanUp);

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8');
  for await (const chunk of socket) text += chunk as string;
  return text;
}

async function tunnel(network: TestNetwork, target: string): Promise<{ socket: Socket; head: string }> {
  const socket = network.dial();
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  return { socket, head: first.toString() };
}

async function startEcho(): Promise<{ port: number; stop(): void }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { port: (server.address() as AddressInfo).port, stop: () => server.close() };
}

test('a granted host is reached by CONNECT, bytes pass unchanged, and a half-closed side still gets the rest', async () => {
  const echo = await startEcho();
  const network = await openTestNetwork({ hosts: [`127.0.0.1:${echo.port}`] });
  const { socket, head } = await tunnel(network, `127.0.0.1:${echo.port}`);
  expect(head).toBe('HTTP/1.1 200 Connection established\r\n\r\n');
  socket.end('hello through the wall');
  expect(await readAll(socket)).toBe('hello through the wall');
  await network.recorded(1);
  expect(network.records).toMatchObject([
    { via: 'connect', target: `127.0.0.1:${echo.port}`, verdict: 'allowed', bytesUp: 22, bytesDown: 22 },
  ]);
  echo.stop();
});

test('another port of a granted host, and another spelling of an ungranted one, are refused with the rule', async () => {
  const network = await openTestNetwork({ hosts: ['registry.example:443'] });
  for (const target of ['registry.example:80', 'other.example:443', '0x7f.1:443', '[::1]:443']) {
    const { head, socket } = await tunnel(network, target);
    const rest = await readAll(socket);
    expect(head).toMatch(/^HTTP\/1\.1 403 Forbidden/);
    expect(head + rest).toContain('granted: registry.example:443');
    expect(head + rest).toContain('network.hosts');
  }
  expect(network.records.map(({ target, verdict }) => [target, verdict])).toEqual([
    ['registry.example:80', 'denied'],
    ['other.example:443', 'denied'],
    ['127.0.0.1:443', 'denied'],
    ['[::1]:443', 'denied'],
  ]);
});

test.each([
  '127.0.0.1',
  '10.1.2.3',
  '169.254.169.254',
  '192.168.0.1',
  '::1',
  '::ffff:127.0.0.1',
  'fd00::1',
  'fe80::1',
])('a granted name that resolves to %s is refused', async (address) => {
  const family = address.includes(':') ? 6 : 4;
  const network = await openTestNetwork(
    { hosts: ['rebound.example:80'] },
    { resolveName: () => Promise.resolve([{ address, family }]) },
  );
  const { head } = await tunnel(network, 'rebound.example:80');
  const plain = await network.ask('http://rebound.example/');
  expect(head).toMatch(/^HTTP\/1\.1 403/);
  expect([plain.status, plain.body.includes(address)]).toEqual([403, true]);
  expect(network.records.map(({ verdict }) => verdict)).toEqual(['denied', 'denied']);
});

test('a granted name reaches a private address that was granted itself, whatever its case', async () => {
  const port = await startOrigin((request, response) =>
    response.end(`${request.headers.host} ${request.url}`),
  );
  const network = await openTestNetwork(
    { hosts: [`db.example:${port}`, `127.0.0.1:${port}`] },
    { resolveName: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]) },
  );
  const reply = await network.ask(`http://DB.example:${port}/rows?x=1`, {
    headers: { host: 'other.example', 'proxy-authorization': 'Basic eDp5' },
  });
  expect([reply.status, reply.body]).toEqual([200, `db.example:${port} /rows?x=1`]);
  expect(network.records).toMatchObject([
    { via: 'http', target: `db.example:${port}`, verdict: 'allowed', detail: 'GET /rows 200' },
  ]);
});

test('plain HTTP to a host that is not granted is a 403 that names the rule', async () => {
  const network = await openTestNetwork({ hosts: ['a.example:80'] });
  const reply = await network.ask('http://b.example/x');
  expect(reply.status).toBe(403);
  expect(reply.body).toContain(
    'b.example:80 is not among the hosts granted to this run (granted: a.example:80)',
  );
  expect(network.records).toMatchObject([{ via: 'http', target: 'b.example:80', verdict: 'denied' }]);
});

test('a granted host that does not resolve is a 502, recorded as failed', async () => {
  const network = await openTestNetwork(
    { hosts: ['gone.example:443'] },
    { resolveName: () => Promise.reject(new Error('getaddrinfo ENOTFOUND gone.example')) },
  );
  const { head } = await tunnel(network, 'gone.example:443');
  expect(head).toMatch(/^HTTP\/1\.1 502/);
  expect(network.records).toMatchObject([{ verdict: 'failed' }]);
});

test('closing ends every connection at once, records them, and removes the socket', async () => {
  const echo = await startEcho();
  const network = await openTestNetwork({ hosts: [`127.0.0.1:${echo.port}`] });
  expect(statSync(network.socket).mode & 0o777).toBe(0o600);
  const { socket } = await tunnel(network, `127.0.0.1:${echo.port}`);
  const idle = network.dial();
  idle.on('error', () => undefined);
  await once(idle, 'connect');
  const ended = Promise.all([once(socket, 'close'), once(idle, 'close')]);
  await Promise.all([network.close(), network.close()]);
  await ended;
  expect(existsSync(network.socket)).toBe(false);
  expect(network.records).toMatchObject([{ via: 'connect', detail: 'cut off when the attempt ended' }]);
  echo.stop();
});

test('a loop of refused connections is counted after a while instead of filling the ledger', async () => {
  const network = await openTestNetwork();
  for (let batch = 0; batch < 42; batch += 1)
    await Promise.all(Array.from({ length: 50 }, () => network.ask('http://b.example/')));
  await network.close();
  expect(network.records).toHaveLength(2001);
  expect(network.records.at(-1)?.detail).toBe(
    '100 more connections were not recorded one by one: 0 allowed, 100 denied, 0 failed',
  );
});

test('a secret of the run that is in a host or a path is in no record', async () => {
  const port = await startOrigin((_request, response) => response.end('fine'));
  const network = await openTestNetwork({
    hosts: [`127.0.0.1:${port}`],
    secrets: [{ name: 'TOKEN', value: 'zq-Secret-4711' }],
  });
  await network.ask(`http://127.0.0.1:${port}/of/zq-Secret-4711`);
  await network.ask('http://zq-Secret-4711.example/');
  await network.ask('ftp://x/zq-Secret-4711');
  await tunnel(network, 'zq-Secret-4711.example:443');
  const reported = JSON.stringify(await network.recorded(4));
  expect(reported.match(/\[redacted:TOKEN\]/g)).toHaveLength(4);
  expect(reported.toLowerCase()).not.toContain('zq-secret-4711');
});

test('what is no HTTP request is answered with an error and recorded', async () => {
  const network = await openTestNetwork();
  for (const [bytes, status] of [
    ['NOT HTTP\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(20_000)}`, 431],
  ] as const) {
    const socket = network.dial();
    socket.end(bytes);
    socket.on('error', () => undefined);
    expect(await readAll(socket)).toContain(`HTTP/1.1 ${status} `);
  }
  await network.recorded(3);
  expect(network.records.map(({ verdict, target }) => `${verdict} ${target}`)).toEqual(
    Array(3).fill('denied no request'),
  );
});

test('a client that only hangs up leaves no record', async () => {
  const network = await openTestNetwork();
  const socket = network.dial();
  await once(socket, 'connect');
  socket.destroy();
  expect((await network.ask('/')).status).toBe(403);
  await network.recorded(1);
  expect(network.records).toMatchObject([{ target: 'unknown path' }]);
});

test('more connections than the cap are turned away', async () => {
  const network = await openTestNetwork();
  const all = Array.from({ length: 257 }, () => network.dial());
  for (const socket of all) socket.on('error', () => undefined);
  await network.recorded(1);
  expect(network.records).toMatchObject([{ verdict: 'denied', detail: 'more than 256 connections at once' }]);
  for (const socket of all) socket.destroy();
});

test('a socket path longer than the kernel allows works', async () => {
  const { mkdtempSync, mkdirSync, rmSync } = await import('node:fs');
  const { join } = await import('node:path');
  const { tmpdir } = await import('node:os');
  const root = mkdtempSync(join(tmpdir(), 'net-'));
  const folder = join(root, 'x'.repeat(120));
  mkdirSync(folder);
  const network = await openTestNetwork({ socket: join(folder, 'n.sock') });
  expect(existsSync(join(folder, 'n.sock'))).toBe(true);
  await network.close();
  expect(existsSync(join(folder, 'n.sock'))).toBe(false);
  rmSync(root, { recursive: true });
});

test('a run without its own network namespace finds the same door on a loopback port', async () => {
  const network = await openTestNetwork({ hosts: ['a.example:80'], onLoopback: true });
  const port = network.loopbackPort ?? 0;
  const reply = await fetch(`http://127.0.0.1:${port}/nowhere`);
  expect([port > 0, reply.status]).toEqual([true, 403]);
  await network.close();
  await expect(fetch(`http://127.0.0.1:${port}/nowhere`)).rejects.toThrow();
});
