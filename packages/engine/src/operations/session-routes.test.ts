import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@caisson/ground';
import { expect, onTestFinished, test } from 'vitest';
import { createLinks, createTokens } from '../face/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { createSessionRoutes } from './session-routes.ts';

const DAY_MS = 86_400_000;

test('a session that is rotated again and again ends seven days after its link was used', async () => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const clock = { wallMs: () => nowMs, now: () => new Date(nowMs) } as Clock;
  const values = new Map<string, unknown>();
  const kv = {
    get: (_space: string, key: string) => values.get(key),
    set: (_space: string, key: string, value: unknown) => void values.set(key, value),
    delete: (_space: string, key: string) => values.delete(key),
    list: () => [...values].map(([key, value]) => ({ key, value })),
  } as unknown as Ledger['kv'];
  const [tokens, links] = [createTokens({ kv, whenFree: async (work) => work() }, clock), createLinks(clock)];
  const answer = createSessionRoutes({ tokens, links, clock, guard: { countFailure: () => undefined } });
  const server = createServer((request, response) => {
    const token = request.headers.authorization?.slice(7);
    answer(request, response, token === undefined ? null : tokens.check(token));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = async (
    path: string,
    body: object,
    token?: string,
  ): Promise<{ token: string; expiresAt: string }> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as { token: string; expiresAt: string };
  };
  const endMs = nowMs + 7 * DAY_MS;
  let session = await ask('/v1/session', { link: links.create() });
  while (endMs - nowMs > 1000) {
    nowMs = Math.ceil((nowMs + Date.parse(session.expiresAt)) / 2);
    session = await ask('/v1/session/rotation', {}, session.token);
  }
  expect(Date.parse(session.expiresAt)).toBe(endMs);
  nowMs = endMs;
  expect(tokens.check(session.token)).toBeNull();
});
