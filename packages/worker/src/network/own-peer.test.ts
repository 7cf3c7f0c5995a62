import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, openTestNetwork } from './network-fixture.ts';

const STRANGER = 31_234;

afterEach(cleanUp);

/** What another program gets for each of its requests; it may close without waiting for the answer. */
async function askFromOutside(port: number, uid: number | undefined, family: 4 | 6 = 4): Promise<string> {
  const program = `
    const { connect } = require('node:net');
    const host = ${family === 4} ? '127.0.0.1' : '::ffff:127.0.0.1';
    let got = '';
    const requests = ['GET /nowhere HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n', 'CONNECT a.example:443 HTTP/1.1\\r\\n\\r\\n', 'no request\\r\\n\\r\\n'];
    const ask = (request, leaves) => new Promise((resolve) => {
      const socket = connect({ port: ${port}, host }, () => { socket.write(request); if (leaves) socket.destroy(); });
      socket.on('data', (chunk) => { got += String(chunk).slice(0, 12) + ' '; socket.destroy(); });
      socket.on('error', () => undefined);
      socket.on('close', resolve);
    });
    (async () => {
      for (const request of requests) await ask(request, false);
      for (const request of requests) await ask(request, true);
      process.stdout.write(got.trim());
    })();`;
  const child = spawn(process.execPath, ['-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: '/',
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const [got] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return got;
}

test.each([4, 6] as const)(
  'our own programs are answered on loopback, over IPv%i sockets',
  async (family) => {
    const network = await openTestNetwork({ onLoopback: true });
    const got = await askFromOutside(network.loopbackPort ?? 0, undefined, family);
    expect(got).toBe('HTTP/1.1 403 HTTP/1.1 403 HTTP/1.1 400');
    expect((await network.recorded(3)).slice(0, 3).map(({ verdict }) => verdict)).toEqual(
      Array(3).fill('denied'),
    );
  },
);

test('another account is not answered, and nothing that it asks for is recorded', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root can ask as another account');
  const network = await openTestNetwork({ onLoopback: true });
  expect(await askFromOutside(network.loopbackPort ?? 0, STRANGER)).toBe('');
  await network.ask('/own-last-request');
  expect(await network.recorded(1)).toMatchObject([{ target: 'unknown path' }]);
});
