import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { NativeLine } from '../native/native-lines.ts';
import type { AcpConfig } from './acp-config.ts';

const CLIENT = fileURLToPath(new URL('../../../cli/dist/acp-client.mjs', import.meta.url)); // as it is shipped
const AGENT = fileURLToPath(new URL('./fixtures/scripted-agent.mjs', import.meta.url));

interface Conversation {
  readonly lines: readonly NativeLine[];
  readonly code: number | null;
  readonly workspace: string;
}

interface Options extends Partial<AcpConfig> {
  readonly agentArgs?: readonly string[];
  /** Called with each line as it comes, to answer or to signal. */
  readonly onLine?: (line: NativeLine, act: { answer(text: string): void; terminate(): void }) => void;
  readonly prepare?: (workspace: string, root: string) => void;
}

function converse(prompt: string, options: Options = {}): Promise<Conversation> {
  const { agentArgs = [], onLine, prepare, ...config } = options;
  const root = mkdtempSync(join(tmpdir(), 'acp-client-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const workspace = join(root, 'workspace');
  mkdirSync(workspace);
  prepare?.(workspace, root);
  const file = join(root, 'acp.json');
  const whole: AcpConfig = {
    agent: { command: process.execPath, args: [AGENT, ...agentArgs] },
    prompt,
    mode: 'auto-edit',
    workspace,
    home: join(root, 'home'),
    canAsk: onLine !== undefined,
    fs: false,
    ...config,
  };
  writeFileSync(file, JSON.stringify(whole));
  const child = spawn(process.execPath, [CLIENT, file], {
    cwd: workspace,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: NativeLine[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const line = JSON.parse(part) as NativeLine;
      lines.push(line);
      onLine?.(line, {
        answer: (text) => void child.stdin.write(`${text}\n`),
        terminate: () => void child.kill('SIGTERM'),
      });
    }
  });
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ lines, code, workspace }));
  });
}

test('an answer in pieces is one text, with the tokens that the agent sent', async () => {
  const { lines, code } = await converse('answer', { model: 'm', systemPrompt: 'be brief' });
  expect([code, lines]).toEqual([
    0,
    [
      { type: 'session', id: 'session-new', model: 'm' },
      { type: 'turn' },
      { type: 'text', text: 'Hello.' },
      { type: 'usage', input: 7, output: 3, cacheRead: 2, cacheWrite: 0 },
      { type: 'done', reply: 'Hello.' },
    ],
  ]);
});

test('an allowed call is allowed once, never always', async () => {
  const { lines } = await converse('ask:touch a.txt');
  expect(lines.slice(1)).toEqual([
    { type: 'turn' },
    { type: 'text', text: 'I will run it.' },
    { type: 'tool_start', id: 'call-1', tool: 'bash', input: { command: 'touch a.txt' } },
    { type: 'tool_end', id: 'call-1', ok: true },
    { type: 'turn' },
    { type: 'text', text: 'chosen: once' },
    { type: 'done', reply: 'chosen: once' },
  ]);
});

test('a call that the mode denies is rejected, and reported', async () => {
  const { lines } = await converse('ask:git push --force');
  expect(lines.find(({ type }) => type === 'denied')).toMatchObject({ actionClass: 'git_destructive' });
  expect(lines.at(-1)).toEqual({ type: 'done', reply: 'chosen: no' });
});

test.each(['allow', 'deny'] as const)(
  'a call that must be asked about waits for the answer %s',
  async (decision) => {
    const { lines } = await converse('ask:git push origin main', {
      mode: 'full-auto',
      onLine: (line, { answer }) => {
        if (line.type === 'ask') answer(JSON.stringify({ id: line.id, decision }));
      },
    });
    expect(lines.some(({ type }) => type === 'ask')).toBe(true);
    expect(lines.at(-1)).toEqual({
      type: 'done',
      reply: decision === 'allow' ? 'chosen: once' : 'chosen: no',
    });
  },
);

test.each([
  ['exit 0', 'once'],
  ['echo no >&2; exit 2', 'no'],
  ['exit 127', 'no'],
])('the gate decides where there is one: %s', async (script, chosen) => {
  const { lines } = await converse('ask:git push --force', {
    gate: { command: '/bin/sh', args: ['-c', `cat >/dev/null; ${script}`] },
  });
  expect(lines.at(-1)).toEqual({ type: 'done', reply: `chosen: ${chosen}` });
});

test('a gate that is not there denies', async () => {
  const { lines } = await converse('ask:ls', { gate: { command: '/nowhere/gate', args: [] } });
  expect(lines.at(-1)).toEqual({ type: 'done', reply: 'chosen: no' });
});

test('a call that the agent never ends is ended as failed', async () => {
  const { lines } = await converse('unfinished');
  expect(lines.filter(({ type }) => type === 'tool_end')).toMatchObject([{ ok: false }]);
});

test.each([
  ['max_tokens', 'max-tokens'],
  ['max_turn_requests', 'max-turns'],
  ['refusal', 'refusal'],
  ['cancelled', 'interrupted'],
])('the stop reason %s is the cause %s', async (reason, cause) => {
  expect((await converse(`stop:${reason}`)).lines.at(-1)).toMatchObject({ type: 'error', cause });
});

test('an agent that fails, dies or is not there is one error line', async () => {
  for (const ran of [
    await converse('fail:529 overloaded'),
    await converse('die'),
    await converse('answer', { agent: { command: '/nowhere/agent', args: [] } }),
  ]) {
    expect(ran.code).toBe(0);
    expect(ran.lines.filter(({ type }) => type === 'done' || type === 'error')).toHaveLength(1);
    expect(ran.lines.at(-1)).toMatchObject({ type: 'error', message: expect.stringMatching(/\S/) });
  }
});

test('a session is loaded without repeating its messages, and a lost one is begun again', async () => {
  const loaded = await converse('answer', { resume: 'session-old', agentArgs: ['--loads'] });
  expect(loaded.lines[0]).toMatchObject({ type: 'session', id: 'session-old' });
  expect(JSON.stringify(loaded.lines)).not.toContain('said long ago');
  const lost = await converse('answer', { resume: 'session-lost', agentArgs: ['--loads'] });
  expect(lost.lines[0]).toMatchObject({ type: 'session', id: 'session-new' });
  expect(lost.lines.at(-1)).toEqual({ type: 'done', reply: 'Hello.' });
  const unable = await converse('answer', { resume: 'session-old' });
  expect(unable.lines[0]).toMatchObject({ type: 'session', id: 'session-new' });
});

test('a command that opencode calls completed has failed when its exit code says so', async () => {
  for (const code of [0, 1]) {
    const { lines } = await converse(`exit:${code}`);
    expect(lines.find(({ type }) => type === 'tool_end')).toMatchObject({ ok: code === 0 });
  }
});

test('SIGTERM cancels the prompt and is not an answer', async () => {
  const { lines } = await converse('hang', {
    onLine: (line, { terminate }) => {
      if (line.type === 'turn') terminate();
    },
  });
  expect(lines.at(-1)).toMatchObject({ type: 'error', cause: 'interrupted' });
});

test('files through the client end at the workspace, links included', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'acp-outside-'));
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  chmodSync(outside, 0o700);
  const write = (name: string, options: Options = {}) => {
    let path = '';
    const prepare = (workspace: string) => {
      symlinkSync(outside, join(workspace, 'link'));
      symlinkSync(join(outside, 'target.txt'), join(workspace, 'file-link'));
      writeFileSync(join(outside, 'target.txt'), 'kept');
      path = name.startsWith('/') ? name : join(workspace, name);
    };
    const root = { fs: true, prepare, ...options };
    return converseWithPath(() => path, root);
  };
  const inside = await write('inside.txt');
  expect(inside.lines.at(-1)).toEqual({ type: 'done', reply: 'written' });
  expect(existsSync(join(inside.workspace, 'inside.txt'))).toBe(true);
  for (const name of ['link/new.txt', 'file-link', join(outside, 'new.txt')]) {
    expect((await write(name)).lines.at(-1)).not.toMatchObject({ reply: 'written' });
  }
  expect(existsSync(join(outside, 'new.txt'))).toBe(false);
  expect((await write('inside.txt', { mode: 'suggest' })).lines.at(-1)).not.toMatchObject({
    reply: 'written',
  });
  expect((await write('inside.txt', { fs: false })).lines.at(-1)).not.toMatchObject({ reply: 'written' });
});

/** The prompt names a path that exists only once the workspace does. */
function converseWithPath(path: () => string, options: Options): Promise<Conversation> {
  const prompt = { toJSON: () => `write:${path()}` };
  return converse(prompt as unknown as string, options);
}
