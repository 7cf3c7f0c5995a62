/** `/mcp` of a daemon with the client of the SDK: each token has the tools of its scopes, and no more. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectMcpHttp, type McpClient } from './mcp-client.ts';
import { createProject, until, type Project } from './project.ts';

const shell = (line: string): Record<string, unknown> => ({ command: ['sh', '-c', line] });
const READING = ['board', 'diff', 'list', 'status', 'wait'];

interface Served {
  readonly project: Project;
  readonly url: string;
  token(scopes: string): Promise<{ readonly id: string; readonly token: string }>;
}

async function serve(config = '', git = true): Promise<Served> {
  const project = createProject({ config, git });
  const { stdout } = await project.caisson('ui', '--no-open', '-o', 'json');
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  return {
    project,
    url: (JSON.parse(stdout) as { url: string }).url,
    async token(scopes) {
      const made = await project.caisson('tokens', 'create', '--scope', scopes, '-o', 'json');
      return JSON.parse(made.stdout) as { id: string; token: string };
    },
  };
}

async function toolsOf({ client }: McpClient): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name).toSorted();
}

describe('/mcp of a daemon', { timeout: 120_000 }, () => {
  it('serves a run from dispatch to apply, and records who did what', async () => {
    const { project, url, token } = await serve();
    const [run, decide] = [await token('run'), await token('decide')];
    const starter = await connectMcpHttp(url, run.token);
    const { runId, granted } = await starter.call('dispatch', shell('echo made > made.txt'));
    expect(granted).toEqual({ mode: 'auto-edit' });
    const stream = starter.client.experimental.tasks.callToolStream(
      { name: 'wait', arguments: { run: runId } },
      CallToolResultSchema,
      { task: { ttl: 60_000 } },
    );
    let last: unknown;
    for await (const message of stream)
      if (message.type === 'result') last = message.result.structuredContent;
    expect(last).toMatchObject({ runId, status: 'done' });
    const decider = await connectMcpHttp(url, decide.token);
    expect(await decider.call('apply', { run: runId })).toMatchObject({ applied: ['made.txt'] });
    expect(readFileSync(join(project.root, 'made.txt'), 'utf8')).toBe('made\n');
    const acts = (await project.events(String(runId))).filter(({ type }) => type === 'visitor.acted');
    const client = 'mcp: a test';
    expect(acts).toMatchObject([
      { by: 'run', token: run.id, client, operation: 'dispatch' },
      { by: 'decide', token: decide.id, client, operation: 'apply' },
    ]);
  });

  it('a question is answered and the daemon goes on when its client goes', async () => {
    const { project, url, token } = await serve();
    const { call, client } = await connectMcpHttp(url, (await token('run,decide')).token);
    const asks = `echo '{"question":"which port?"}' > .caisson/needs_input.json`;
    const { runId } = await call('dispatch', shell(asks));
    expect(await call('wait', { run: runId, timeoutSeconds: 60 })).toMatchObject({ status: 'waiting' });
    const next = await call('answer', { run: runId, answer: '8080' });
    const acts = (await project.events(String(runId))).filter(({ type }) => type === 'visitor.acted');
    expect(acts.at(-1)).toMatchObject({ by: 'run,decide', client: 'mcp: a test', operation: 'answer' });
    const started = (await project.events(String(next['runId']))).find(
      ({ type }) => type === 'visitor.acted',
    );
    expect(started).toMatchObject({ client: 'mcp: a test', operation: 'dispatch' });
    await call('board', { session: 'team', key: 'port', value: 1 });
    const all = (await project.caisson('events', '-o', 'ndjson')).stdout;
    expect(all).toMatch(/"operation":"writeBoard","target":"team"/);
    await client.close();
    await project.caisson('logs', '-f', String(next['runId']));
    expect((await project.caisson('status')).stdout).toContain('serving');
  });

  it('no token has a run in the own folder of the user', async () => {
    const { project, url, token } = await serve('', false);
    const { refusal } = await connectMcpHttp(url, (await token('admin')).token);
    expect(await refusal('dispatch', shell('echo made > made.txt'))).toMatchObject({
      message: expect.stringContaining('not in a git repository'),
    });
    expect(existsSync(join(project.root, 'made.txt'))).toBe(false);
  });

  it('a token has the tools of its scopes, and no grant beyond them', async () => {
    const { url, token } = await serve('network:\n  hosts: ["registry.example:443"]\n');
    const [read, run, decide] = [await token('read'), await token('run'), await token('decide')];
    const reader = await connectMcpHttp(url, read.token);
    const starter = await connectMcpHttp(url, run.token);
    expect(await toolsOf(reader)).toEqual(READING);
    expect(await toolsOf(starter)).toEqual([...READING, 'cancel', 'dispatch'].toSorted());
    expect(await toolsOf(await connectMcpHttp(url, decide.token))).toEqual(
      [...READING, 'answer', 'apply'].toSorted(),
    );
    await expect(reader.client.callTool({ name: 'dispatch', arguments: shell('true') })).rejects.toThrow(
      'no tool dispatch',
    );
    const exceeded = { code: 'GRANT_EXCEEDED' };
    for (const more of [{ mode: 'full-auto' }, { sandbox: 'none' }, { hosts: ['other.example:443'] }])
      expect(await starter.refusal('dispatch', { ...shell('true'), ...more })).toMatchObject(exceeded);
    expect(await starter.refusal('dispatch', { ...shell('true'), secrets: {} })).toMatchObject({
      code: 'USAGE',
    });
  });

  it('a token has so many tasks and sessions, and takes those of no other', async () => {
    const { url, token } = await serve();
    const [read, run] = [await token('read'), await token('run')];
    const starter = await connectMcpHttp(url, run.token);
    const { runId } = await starter.call('dispatch', shell('sleep 60'));
    const reader = await connectMcpHttp(url, read.token);
    const wait = async (ttl: number, { client } = reader): Promise<number | null> => {
      const params = { name: 'wait', arguments: { run: runId }, task: { ttl } };
      return (await client.request({ method: 'tools/call', params }, CreateTaskResultSchema)).task.ttl;
    };
    expect(await wait(0, starter)).toBe(1000);
    expect(await wait(1e12)).toBe(24 * 3_600_000);
    for (let count = 1; count < 16; count += 1) await wait(600_000);
    await expect(wait(600_000)).rejects.toThrow('16 tasks under way');

    const idle = await connectMcpHttp(url, read.token);
    for (let count = 2; count < 17; count += 1) await connectMcpHttp(url, read.token);
    await expect(idle.client.listTools()).rejects.toThrow('Session not found');
    for (const { client } of [reader, starter]) expect((await client.listTools()).tools).not.toEqual([]);
  });

  it('a key belongs to its token, and a repeat gets the run that is there', async () => {
    const { url, token } = await serve();
    const [one, other] = [await token('run'), await token('run')];
    const asked = { ...shell('true'), idempotencyKey: 'k' };
    const { runId } = await (await connectMcpHttp(url, one.token)).call('dispatch', asked);
    const repeated = await (await connectMcpHttp(url, one.token)).call('dispatch', asked);
    expect(repeated).toEqual({ runId, isEarlier: true, next: expect.any(String) });
    const others = await (await connectMcpHttp(url, other.token)).call('dispatch', asked);
    expect(others).toMatchObject({ granted: { mode: 'auto-edit' } });
    expect(others['runId']).not.toBe(runId);
  });

  it('a session has so many calls under way, and one whose client goes away ends', async () => {
    const { project, url, token } = await serve();
    const { token: bearer } = await token('run');
    const { client, call } = await connectMcpHttp(url, bearer);
    const { runId } = await call('dispatch', shell('sleep 600'));
    const session = (client.transport as { sessionId?: string }).sessionId ?? '';
    const dropping = new AbortController();
    const headers = {
      ...{ authorization: `Bearer ${bearer}`, 'mcp-session-id': session },
      ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    };
    const wait = async (id: number): Promise<number> => {
      const params = { name: 'wait', arguments: { run: runId, timeoutSeconds: 600 } };
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
      const { signal } = dropping;
      return (await fetch(new URL('/mcp', url), { method: 'POST', body, headers, signal })).status;
    };
    const ids = Array.from({ length: 64 }, (_, index) => 1000 + index);
    expect(new Set(await Promise.all(ids.map(wait)))).toEqual(new Set([200]));
    await until('the session is full', () =>
      call('list').then(
        () => false,
        (error: Error) => error.message.includes('64 calls under way'),
      ),
    );
    dropping.abort();
    await until('there is room again', () =>
      call('list').then(
        () => true,
        () => false,
      ),
    );
    await project.caisson('cancel', String(runId), '--force');
  });

  it('a session is of its token alone, and ends with it', async () => {
    const { project, url, token } = await serve();
    const [read, other] = [await token('read'), await token('run')];
    const { client, call } = await connectMcpHttp(url, read.token);
    const session = (client.transport as { sessionId?: string }).sessionId ?? '';
    const ask = async (headers: Record<string, string>): Promise<number> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list' });
      const accept = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
      const given = { ...accept, 'mcp-session-id': session, ...headers };
      return (await fetch(new URL('/mcp', url), { method: 'POST', body, headers: given })).status;
    };
    const bearer = (one: string): Record<string, string> => ({ authorization: `Bearer ${one}` });
    expect(await ask(bearer(read.token))).toBe(200);
    expect(await ask(bearer(other.token))).toBe(404);
    expect(await ask({ ...bearer(read.token), 'mcp-session-id': 'none' })).toBe(404);
    expect(await ask({})).toBe(401);
    expect(await ask({ ...bearer(read.token), origin: 'http://evil.example' })).toBe(403);
    expect(await ask({ ...bearer(read.token), 'content-type': 'text/plain' })).toBe(415);
    await project.caisson('tokens', 'revoke', read.id);
    expect(await ask(bearer(read.token))).toBe(401);
    await expect(call('list')).rejects.toThrow('401');
  });

  it('answers on the socket, where this account needs no token', async () => {
    const { project } = await serve();
    const socket = join(project.root, '.caisson/runtime/daemon.sock');
    expect(existsSync(socket)).toBe(true);
    const initialize = {
      ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'curl', version: '1' } },
    };
    const headers = [
      '-H',
      'content-type: application/json',
      '-H',
      'accept: application/json, text/event-stream',
    ];
    const { stdout } = await promisify(execFile)('curl', [
      ...['-sS', '--unix-socket', socket, ...headers, '-d', JSON.stringify(initialize)],
      'http://localhost/mcp',
    ]);
    expect(stdout).toContain('"serverInfo":{"name":"caisson"');
  });
});
