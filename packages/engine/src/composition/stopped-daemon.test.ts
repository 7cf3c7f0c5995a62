import { spawn } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import type { Connection } from '../api/index.ts';
import { failWhenStopped } from './stopped-daemon.ts';

test('a daemon that is stopped within its answer keeps nobody waiting', { timeout: 5000 }, async () => {
  const child = spawn('sleep', ['60']);
  onTestFinished(() => void child.kill('SIGKILL'));
  const pid = child.pid ?? 0;
  const rest = Promise.withResolvers<never>();
  const connection: Connection = {
    async request({ signal }) {
      signal?.addEventListener('abort', () => rest.reject(new Error('its connection was ended')));
      async function* body() {
        yield Buffer.from('begin,');
        await rest.promise;
      }
      return { status: 200, headers: new Map(), body: body() };
    },
    close: () => undefined,
  };
  const { body } = await failWhenStopped(connection, pid, 20).request({ method: 'GET', path: '/' });
  const parts = body[Symbol.asyncIterator]();
  expect((await parts.next()).value?.toString()).toBe('begin,');
  process.kill(pid, 'SIGSTOP');
  await expect(parts.next()).rejects.toMatchObject({ code: 'DAEMON_SILENT' });
});
