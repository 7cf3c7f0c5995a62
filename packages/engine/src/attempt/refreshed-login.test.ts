import { expect, it } from 'vitest';
import { listTokens, readRefreshed } from './refreshed-login.ts';

const jwt = (claims: object): string =>
  [{}, claims, {}].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
const BEFORE = {
  auth_mode: 'chatgpt',
  tokens: { access_token: jwt({ sub: 'me', exp: 1 }), refresh_token: 'refresh-1', account_id: 'me' },
  plan: 'plus',
};
type Login = typeof BEFORE;
const judge = (after: unknown): unknown =>
  readRefreshed(JSON.stringify(BEFORE), typeof after === 'string' ? after : JSON.stringify(after));
const withTokens = (tokens: object): unknown => ({ ...BEFORE, tokens: { ...BEFORE.tokens, ...tokens } });

it('new tokens of the same account are taken over, and nothing else of the file', () => {
  const access_token = jwt({ sub: 'me', exp: 2 });
  const after = {
    ...(withTokens({ access_token, refresh_token: 'refresh-2' }) as Login),
    plan: 'x',
    more: 1,
  };
  expect(judge(after)).toEqual({
    kind: 'refreshed',
    text: `${JSON.stringify(withTokens({ access_token, refresh_token: 'refresh-2' }), null, 2)}\n`,
  });
  expect(judge({ ...BEFORE, plan: 'x' })).toEqual({ kind: 'same' });
});

it.each([
  ['half a file', '{ "tokens": '],
  ['an empty file', ''],
  ['no object', '[]'],
  ['missing tokens', { auth_mode: 'chatgpt' }],
  ['another account', withTokens({ account_id: 'another' })],
  ['a token about another', withTokens({ access_token: jwt({ sub: 'another' }) })],
  ['a token that does not say about whom', withTokens({ access_token: 'opaque' })],
  ['another way to log in', { ...BEFORE, auth_mode: 'apikey' }],
  ['a token with a line break', withTokens({ refresh_token: 'a\nb' })],
  ['a huge token', withTokens({ refresh_token: 'x'.repeat(20_000) })],
  ['a token of another kind', withTokens({ refresh_token: { a: 1 } })],
])('%s is refused', (_what, after) => {
  expect(judge(after)).toMatchObject({ kind: 'refused' });
});

it('every token and key of a file is known to the redactor', () => {
  const text = JSON.stringify({
    a: { type: 'oauth', access: 'access-1234', expires: 5 },
    b: { key: 'key-12345' },
  });
  expect(listTokens(text)).toEqual(['access-1234', 'key-12345']);
});

it('a time that is no number is refused, and secrets of every name are redacted', () => {
  const before = '{"expiresAt":5,"accessToken":"first-token"}';
  expect(readRefreshed(before, '{"expiresAt":1e999,"accessToken":"first-token"}')).toMatchObject({
    kind: 'refused',
  });
  const file = {
    servers: { one: { clientSecret: 'very-secret-1', accessToken: 'very-secret-2', url: 'not-secret' } },
  };
  expect(listTokens(JSON.stringify(file))).toEqual(['very-secret-1', 'very-secret-2']);
});
