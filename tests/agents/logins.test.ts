/** The real programs with a log-in in their own format: no key anywhere, dummy tokens, and servers on loopback only. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startModelServer, type ScriptInput } from '@caisson/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, type Project } from '../e2e/project.ts';
import { isSkipped, prepareAgent } from './agent-under-test.ts';

const SCRIPT: ScriptInput = [
  {
    tool: { intent: 'write-file', path: 'done.txt', content: 'done\n' },
    usage: { inputTokens: 100, outputTokens: 10 },
  },
  { say: 'It is done.', usage: { inputTokens: 100, outputTokens: 10 } },
];

const token = (claims: object): string =>
  [{ alg: 'none' }, claims, {}]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
const codexToken = (exp: number): string =>
  token({ exp, sub: 'user-1', 'https://api.openai.com/auth': { chatgpt_account_id: 'account-1' } });
const [OLD, NEW] = [codexToken(1_700_000_000), codexToken(4_102_444_800)];
const CODEX = {
  auth_mode: 'chatgpt',
  OPENAI_API_KEY: null,
  tokens: { id_token: OLD, access_token: OLD, refresh_token: 'refresh-token-old', account_id: 'account-1' },
  last_refresh: '2025-01-01T00:00:00Z',
};
const CLAUDE_TOKEN = 'sk-ant-oat01-dummy-access-token';
const CLAUDE = {
  claudeAiOauth: {
    accessToken: CLAUDE_TOKEN,
    refreshToken: 'sk-ant-ort01-dummy-refresh-token',
    expiresAt: 4_102_444_800_000,
    scopes: ['user:inference', 'user:profile'],
    subscriptionType: 'max',
  },
};
const PI = {
  anthropic: {
    type: 'oauth',
    access: CLAUDE_TOKEN,
    refresh: 'sk-ant-ort01-dummy',
    expires: 4_102_444_800_000,
  },
};

/** Stands for the vendor's server that gives new tokens, each refresh token once. */
async function startTokenServer(): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { refresh_token: given } = JSON.parse(body) as { refresh_token: string };
      asked.push(given);
      response.statusCode = given === 'refresh-token-old' ? 200 : 400;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ access_token: NEW, id_token: NEW, refresh_token: 'refresh-token-new' }));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/oauth/token`, asked };
}

async function prepare(name: string, file: string, login: unknown, accepted: string, more = '') {
  const agent = await prepareAgent(name);
  const model = await startModelServer({ script: SCRIPT, apiKey: accepted });
  onTestFinished(() => model.stop());
  const project = createProject();
  const home = project.env['HOME'] ?? '';
  const own = agent.config(model.url).replace(', apiKey: "env:MODEL_KEY"', more === '' ? '' : `, ${more}`);
  for (const [path, content] of [
    [join(home, '.config/caisson/config.yaml'), own],
    [join(home, file), JSON.stringify(login)],
  ] as const) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode: 0o600 });
  }
  return { project, model, path: join(home, file) };
}

async function work(project: Project, name: string, ...options: string[]) {
  const ran = await project.run('--runtime', name, '--login', '--retries', '0', ...options, 'write done.txt');
  expect(ran.failure).toBeUndefined();
  expect(ran.result?.policy.enforced).toMatchObject({ credential: 'inside' });
  expect(ran.result?.patchRef).toBeDefined();
  expect(ran.result?.usage?.inputTokens).toBeGreaterThan(0);
  return ran;
}

if (isSkipped) process.stderr.write('CAISSON_SKIP_AGENTS=1: no real program uses a log-in.\n');
describe.skipIf(isSkipped)('a real program with the log-in of its user', () => {
  it('codex refreshes an expired log-in inside, and the new tokens are in the user’s file', async () => {
    const tokens = await startTokenServer();
    const env = `env: { CODEX_REFRESH_TOKEN_URL_OVERRIDE: "${tokens.url}" }`;
    const { project, path } = await prepare('codex', '.codex/auth.json', CODEX, NEW, env);
    await work(project, 'codex', '--network', 'full');
    expect(tokens.asked).toEqual(['refresh-token-old']);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      ...CODEX,
      tokens: {
        id_token: NEW,
        access_token: NEW,
        refresh_token: 'refresh-token-new',
        account_id: 'account-1',
      },
      last_refresh: expect.stringMatching(/^20\d\d-/) as string,
    });
    // Once agreed to, the next run uses it without a word, and does not refresh again.
    const next = await project.run('--runtime', 'codex', '--network', 'full', 'write done.txt');
    expect([next.status, tokens.asked.length]).toEqual(['done', 1]);
  });

  it('claude-code and pi work with the token of their log-in, and the broker counts', async () => {
    for (const [name, file, login] of [
      ['claude-code', '.claude/.credentials.json', CLAUDE],
      ['pi', '.pi/agent/auth.json', PI],
    ] as const) {
      const { project, path } = await prepare(name, file, login, CLAUDE_TOKEN);
      await work(project, name);
      expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(login);
    }
  });
});
