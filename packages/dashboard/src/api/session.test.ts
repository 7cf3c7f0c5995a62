import { afterEach, expect, test, vi } from 'vitest';
import { withQuery } from './client.ts';
import { toProblemError, asProblem } from './problem.ts';
import { dropSession, exchangeLink, findLinkCode, keepSession, readSession } from './session.ts';

function createStorage(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as unknown as Storage;
}

afterEach(() => void vi.unstubAllGlobals());

test('a link has its code behind the hash, where no server sees it', () => {
  expect(findLinkCode('#link=abc')).toBe('abc');
  expect(findLinkCode('#other=1')).toBeNull();
  expect(findLinkCode('')).toBeNull();
});

test('a session is kept until it expires or is dropped', () => {
  const storage = createStorage();
  const session = { token: 't', scopes: ['read'], expiresAt: '2026-01-01T00:00:00Z' };
  keepSession(storage, session);
  expect(readSession(storage, Date.parse('2025-12-31T23:59:59Z'))).toEqual(session);
  expect(readSession(storage, Date.parse('2026-01-01T00:00:00Z'))).toBeNull();
  dropSession(storage);
  expect(readSession(storage, 0)).toBeNull();
});

test('what is stored and is no session counts as none', () => {
  const storage = createStorage();
  for (const text of ['', '{', 'null', '{"token":1,"scopes":[]}']) {
    storage.setItem('caisson.session', text);
    expect(readSession(storage, 0)).toBeNull();
  }
});

test('a link is exchanged for a session, and a used one is refused in the words of the host', async () => {
  const answers = [
    new Response(JSON.stringify({ token: 't', scopes: ['read', 'act'], expiresAt: 'x', more: 1 })),
    new Response(JSON.stringify({ code: 'LINK_USED', message: 'this link was used', remedy: 'caisson ui' }), {
      status: 401,
    }),
  ];
  const asked: unknown[] = [];
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
    asked.push([path, init.body]);
    return Promise.resolve(answers.shift());
  });
  expect(await exchangeLink('abc')).toEqual({ token: 't', scopes: ['read', 'act'], expiresAt: 'x' });
  await expect(exchangeLink('abc')).rejects.toMatchObject({
    code: 'LINK_USED',
    remedy: 'caisson ui',
    status: 401,
  });
  expect(asked[0]).toEqual(['/v1/session', '{"link":"abc"}']);
});

test('an answer that is no problem+json is described by its status', () => {
  expect(toProblemError(502, '<html>')).toMatchObject({ code: 'HTTP_502', message: 'the host answered 502' });
  expect(asProblem(new TypeError('failed to fetch')).code).toBe('UNREACHABLE');
});

test('a query leaves out what is not set', () => {
  expect(withQuery('/v1/runs', { status: '', text: 'a b', limit: 1, after: undefined })).toBe(
    '/v1/runs?text=a+b&limit=1',
  );
});
