import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import { startModelServer, type ModelServer, type ScriptTurn } from '@caisson/testkit';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { build } from 'esbuild';
import { z } from 'zod';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { NativeConfig } from './native-config.ts';
import type { NativeLine } from './native-lines.ts';

const bundleFolder = mkdtempSync(join(tmpdir(), 'native-bundle-'));
const ENTRY = join(bundleFolder, 'native-agent.mjs');
const folders: string[] = [];
const servers: ModelServer[] = [];

// The agent is tested as it is shipped: one file.
beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL('./native-agent.ts', import.meta.url))],
    outfile: ENTRY,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    logLevel: 'silent',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
});
afterAll(() => rmSync(bundleFolder, { recursive: true, force: true }));

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly workspace: string;
  readonly server: ModelServer;
  /** Resolves with the first line that matches, past or future. */
  waitFor(type: NativeLine['type']): Promise<NativeLine>;
  readonly ended: Promise<{ code: number | null; lines: readonly NativeLine[] }>;
}

async function start(script: ScriptTurn[], more: Partial<NativeConfig> = {}): Promise<Started> {
  const workspace = mkdtempSync(join(tmpdir(), 'native-'));
  folders.push(workspace);
  writeFileSync(join(workspace, 'README.md'), 'old text\n');
  const server = await startModelServer({ script });
  servers.push(server);
  const config: NativeConfig = {
    prompt: 'do it',
    model: 'test-model',
    api: 'anthropic-messages',
    baseUrl: server.url,
    apiKey: 'placeholder',
    mode: 'auto-edit',
    workspace,
    home: workspace,
    ...more,
  };
  const configFile = join(workspace, 'native.json');
  writeFileSync(configFile, JSON.stringify(config));
  const child = spawn(process.execPath, [ENTRY, configFile], { env: { PATH: process.env.PATH ?? '' } });
  return { child, workspace, server, ...follow(child) };
}

function follow(child: ChildProcessWithoutNullStreams): Pick<Started, 'waitFor' | 'ended'> {
  const lines: NativeLine[] = [];
  const waiting: { type: string; resolve: (line: NativeLine) => void }[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const line: NativeLine = JSON.parse(part);
      lines.push(line);
      for (const waiter of waiting.filter(({ type }) => type === line.type)) waiter.resolve(line);
    }
  });
  return {
    waitFor: (type) =>
      new Promise((resolve) => {
        const known = lines.find((line) => line.type === type);
        if (known === undefined) waiting.push({ type, resolve });
        else resolve(known);
      }),
    ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, lines }))),
  };
}

const typesOf = (lines: readonly NativeLine[]) => lines.map((line) => line.type);
const say = (text: string): ScriptTurn => ({ say: text });
const run = (command: string): ScriptTurn => ({ tool: { intent: 'run-command', command } });
const write: ScriptTurn = { tool: { intent: 'write-file', path: 'made/by.txt', content: 'agent\n' } };

test('it edits, runs commands, and ends with its reply', async () => {
  const edit: ScriptTurn = { tool: { intent: 'edit-file', path: 'README.md', find: 'old', replace: 'new' } };
  const { ended, workspace, server } = await start([write, edit, run('cat README.md'), say('All done.')]);
  const { code, lines } = await ended;
  expect(code).toBe(0);
  expect(lines.at(-1)).toEqual({ type: 'done', reply: 'All done.' });
  expect(lines.filter((line) => line.type === 'tool_end').map((line) => line.ok)).toEqual([true, true, true]);
  expect(readFileSync(join(workspace, 'made/by.txt'), 'utf8')).toBe('agent\n');
  expect(readFileSync(join(workspace, 'README.md'), 'utf8')).toBe('new text\n');
  const counted = lines.flatMap((line) => (line.type === 'usage' ? [line] : []));
  expect(counted.reduce((sum, line) => sum + line.input, 0)).toBe(server.usage().inputTokens);
  expect(counted.reduce((sum, line) => sum + line.output, 0)).toBe(server.usage().outputTokens);
});

test('in suggest a write is denied before it runs, and the model gets the reason', async () => {
  const { ended, workspace, server } = await start([write, say('I propose a file.')], { mode: 'suggest' });
  const { lines } = await ended;
  expect(lines.find((line) => line.type === 'denied')).toMatchObject({
    tool: 'write',
    actionClass: 'file_write',
  });
  expect(existsSync(join(workspace, 'made'))).toBe(false);
  expect(lines.at(-1)).toEqual({ type: 'done', reply: 'I propose a file.' });
  expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('Denied by policy');
});

test('a rule of the config forbids what the mode allows', async () => {
  const rules = [{ path: 'made/**', action: 'read-only', reason: 'generated elsewhere' } as const];
  const { ended, workspace } = await start([write, say('no')], { rules });
  const { lines } = await ended;
  expect(typesOf(lines)).toContain('denied');
  expect(existsSync(join(workspace, 'made'))).toBe(false);
});

test('a rule that cannot be read lets nothing pass', async () => {
  const { ended, workspace } = await start([write, say('no')], {
    rules: [{ path: 'x', action: 'whatever' }],
  });
  await ended;
  expect(existsSync(join(workspace, 'made'))).toBe(false);
});

test.each(['allow', 'deny'] as const)(
  'a call that is asked about waits until a person says %s',
  async (decision) => {
    const script = [run('rm README.md'), say('Settled.')];
    const { child, waitFor, ended, workspace } = await start(script, { canAsk: true });
    const ask = await waitFor('ask');
    expect(ask).toMatchObject({ tool: 'bash', actionClass: 'file_delete' });
    expect(existsSync(join(workspace, 'README.md'))).toBe(true);
    child.stdin.write(`${JSON.stringify({ id: 'id' in ask ? ask.id : '', decision })}\n`);
    const { lines } = await ended;
    expect(existsSync(join(workspace, 'README.md'))).toBe(decision === 'deny');
    expect(lines.at(-1)).toEqual({ type: 'done', reply: 'Settled.' });
  },
);

test('when no person can answer any more, the call is denied', async () => {
  const { child, waitFor, ended, workspace } = await start([run('rm README.md'), say('Settled.')], {
    canAsk: true,
  });
  await waitFor('ask');
  child.stdin.end();
  expect(typesOf((await ended).lines)).toContain('denied');
  expect(existsSync(join(workspace, 'README.md'))).toBe(true);
});

test('a wrong key is one error line with the status, and exit code 0', async () => {
  const { ended } = await start([{ fault: '401' }]);
  const { code, lines } = await ended;
  expect(code).toBe(0);
  const last = lines.at(-1);
  expect(last?.type === 'error' && last.message).toContain('401');
});

test('SIGTERM inside a tool ends the tool and the agent', async () => {
  const { child, waitFor, ended } = await start([run('echo started > mark; sleep 600'), say('never')]);
  await waitFor('tool_start');
  child.kill('SIGTERM');
  const { lines } = await ended;
  expect(lines.at(-1)?.type).toBe('error');
});

test('a session is resumed with all that was said before', async () => {
  const sessionFolder = mkdtempSync(join(tmpdir(), 'native-sessions-'));
  folders.push(sessionFolder);
  const first = await start([write, say('First done.')], { sessionFolder });
  const [session] = (await first.ended).lines;
  const resume = session?.type === 'session' ? session.id : '';
  const more = { sessionFolder, resume, workspace: first.workspace, prompt: 'and now?' };
  const second = await start([write, say('First done.'), say('Second done.')], more);
  const { lines } = await second.ended;
  expect(lines[0]).toMatchObject({ type: 'session', id: resume });
  expect(lines.at(-1)).toEqual({ type: 'done', reply: 'Second done.' });
  expect(JSON.stringify(second.server.requests[0]?.body)).toContain('First done.');
});

test('a session that is not there is an error, not a new one', async () => {
  const { ended } = await start([say('hi')], {
    sessionFolder: tmpdir(),
    resume: '00000000-0000-0000-0000-000000000000',
  });
  expect((await ended).lines.at(-1)).toMatchObject({ type: 'error' });
});

test('its tools are those of its descriptor', async () => {
  const { ended, server } = await start([say('hi')]);
  await ended;
  const body = server.requests[0]?.body as { tools: { name: string }[] };
  const named = Object.values(RUNTIME_DESCRIPTORS['native']?.tools ?? {}).join(' ');
  expect(body.tools.map((tool) => tool.name).toSorted()).toEqual(named.split(' ').toSorted());
});

test('only the tools that the config names are offered', async () => {
  const { ended, server } = await start([say('hi')], { tools: ['read', 'ls'] });
  await ended;
  const body = server.requests[0]?.body as { tools: { name: string }[] };
  expect(body.tools.map((tool) => tool.name)).toEqual(['read', 'ls']);
});

test('it offers the tools of the coordination server and calls them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'native-mcp-'));
  folders.push(folder);
  const socketPath = join(folder, 'tools.sock');
  const board = new Map<string, string>();
  const listener = createServer((socket) => {
    const mcp = new McpServer({ name: 'caisson', version: '1' });
    const inputSchema = { key: z.string(), value: z.string() };
    mcp.registerTool('board_write', { description: 'write the board', inputSchema }, ({ key, value }) => {
      board.set(key, value);
      return { content: [{ type: 'text', text: 'written' }] };
    });
    void mcp.connect(new StdioServerTransport(socket, socket));
  });
  await new Promise<void>((resolve) => listener.listen(socketPath, resolve));
  try {
    const call: ScriptTurn = {
      tool: { intent: 'mcp', tool: 'board_write', arguments: { key: 'a', value: 'b' } },
    };
    const { ended } = await start([call, say('On the board.')], { mcpSocket: socketPath });
    const { lines } = await ended;
    expect(lines.at(-1)).toEqual({ type: 'done', reply: 'On the board.' });
    expect(Object.fromEntries(board)).toEqual({ a: 'b' });
  } finally {
    listener.close();
  }
});

test('a coordination server that is not there is an error, not an agent without its tools', async () => {
  const { ended } = await start([say('hi')], { mcpSocket: '/nonexistent/tools.sock' });
  expect((await ended).lines.at(-1)).toMatchObject({ type: 'error' });
});

test.each(['openai-responses', 'openai-completions'] as const)('it speaks %s too', async (api) => {
  const server = await startModelServer({ script: [write, say('Done here.')] });
  servers.push(server);
  const { ended, workspace } = await start([say('unused')], { api, baseUrl: `${server.url}/v1` });
  const { lines } = await ended;
  expect(lines.at(-1)).toEqual({ type: 'done', reply: 'Done here.' });
  expect(readFileSync(join(workspace, 'made/by.txt'), 'utf8')).toBe('agent\n');
});
