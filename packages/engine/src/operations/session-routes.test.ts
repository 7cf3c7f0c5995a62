import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@caisson/ground';
import { expect, onTestFinished, test } from 'vitest';
import { createLinks, createTokens, type Links, type Tokens } from '../face/index.ts';
import { lockLedger } from '../ledger/fixtures/lock-ledger.ts';
import { openLedger } from '../ledger/index.ts';
import { createSessionRoutes } from './session-routes.ts';

const DAY_MS = 86_400_000;

interface Answer {
  readonly token: string;
  readonly expiresAt: string;
}

interface Asked {
  /** Resolves once its request has reached the routes. */
  readonly arrived: Promise<unknown>;
  readonly answer: Promise<Answer>;
}

interface Stage {
  readonly tokens: Tokens;
  readonly links: Links;
  nowMs: number;
  ask(method: string, path: string, body?: object, token?: string): Asked;
  /** Until the returned function is called, another process writes. */
  lock(): () => void;
}

async function serve(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-sessions-'));
  const file = join(folder, 'ledger.db');
  const ledger = openLedger(file);
  const clock = { wallMs: () => stage.nowMs, now: () => new Date(stage.nowMs) } as Clock;
  const [tokens, links] = [createTokens(ledger, clock), createLinks(clock)];
  const answer = createSessionRoutes({ tokens, links, clock, guard: { countFailure: () => undefined } });
  const server = createServer((request, response) => {
    const token = request.headers.authorization?.slice(7);
    answer(request, response, token === undefined ? null : tokens.check(token));
  }).listen(0, '127.0.0.1');
  onTestFinished(async () => {
    server.close();
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = async (method: string, path: string, body: object, token?: string): Promise<Answer> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
    return (await response.json()) as Answer;
  };
  const stage: Stage = {
    tokens,
    links,
    nowMs: Date.parse('2026-01-01T00:00:00Z'),
    ask(method, path, body = {}, token) {
      const arrived = once(server, 'request');
      return { arrived, answer: send(method, path, body, token) };
    },
    lock: () => lockLedger(file),
  };
  return stage;
}

test('a session that is rotated again and again ends seven days after its link was used', async () => {
  const stage = await serve();
  const endMs = stage.nowMs + 7 * DAY_MS;
  let session = await stage.ask('POST', '/v1/session', { link: stage.links.create() }).answer;
  while (endMs - stage.nowMs > 1000) {
    stage.nowMs = Math.ceil((stage.nowMs + Date.parse(session.expiresAt)) / 2);
    session = await stage.ask('POST', '/v1/session/rotation', {}, session.token).answer;
  }
  expect(Date.parse(session.expiresAt)).toBe(endMs);
  stage.nowMs = endMs;
  expect(stage.tokens.check(session.token)).toBeNull();
});

test('a session that is being made as a person ends the listening ends with it', async () => {
  const { tokens, lock } = await serve();
  const order = { name: 'of a person', scopes: ['read'], expiresInMs: null } as const;
  const unlock = lock();
  const signIn = tokens.create({ ...order, kind: 'session' });
  const made = tokens.create({ ...order, kind: 'token' });
  const ending = tokens.endSessions();
  unlock();
  await ending;
  expect(tokens.check((await signIn).token)).toBeNull();
  expect(tokens.list().map(({ id }) => id)).toEqual([(await made).id]);
});

const ROTATION = ['POST', '/v1/session/rotation'] as const;
const SIGN_OUT = ['DELETE', '/v1/session'] as const;

test.each([
  ['a rotation', ROTATION, 1],
  ['a sign-out after it', SIGN_OUT, 0],
])('a rotation beside %s leaves no session too many', async (_what, beside, left) => {
  const { tokens, links, ask, lock } = await serve();
  const { token } = await ask('POST', '/v1/session', { link: links.create() }).answer;
  const unlock = lock();
  const answers: Promise<Answer>[] = [];
  for (const [method, path] of [ROTATION, beside]) {
    const { arrived, answer } = ask(method, path, {}, token);
    answers.push(answer);
    await arrived;
  }
  unlock();
  const [first] = await Promise.all(answers);
  expect(tokens.list()).toHaveLength(left);
  expect(tokens.check(first?.token ?? '') !== null).toBe(left === 1);
});
