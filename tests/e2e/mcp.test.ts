/** `caisson mcp` with the client of the SDK: what the tools do, and what a client cannot get. */
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { connectMcp } from './mcp-client.ts';
import { createProject, ROOT, until, type Project } from './project.ts';

const LIMIT_MS = 90_000;
const shell = (line: string): Record<string, unknown> => ({ command: ['sh', '-c', line] });
/** Waits for a file of the host, so that a test decides when it ends. */
const HOLDS = 'until test -e .caisson/channel/inbox.jsonl; do sleep 0.1; done';

async function statusOf(project: Project, runId: unknown): Promise<unknown> {
  const { stdout } = await project.caisson('show', String(runId), '-o', 'json');
  return (JSON.parse(stdout) as { status: string }).status;
}

describe('caisson mcp', { timeout: LIMIT_MS }, () => {
  it('starts a run, waits for it, shows its patch and applies it', async () => {
    const project = createProject();
    const { client, call } = await connectMcp(project);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      'answer',
      'apply',
      'board',
      'cancel',
      'diff',
      'dispatch',
      'list',
      'status',
      'wait',
    ]);
    expect(await call('list')).toEqual({ runs: [] });
    const { runId, granted } = await call('dispatch', shell('echo made > made.txt'));
    expect(granted).toEqual({ mode: 'auto-edit' });
    const ended = await call('wait', { run: runId, timeoutSeconds: 60 });
    expect(ended).toMatchObject({ runId, status: 'done', isEnded: true, exitCode: 0, runtime: 'command' });
    expect(await call('status', { run: 'latest' })).toEqual(ended);
    expect(await call('diff', { run: runId })).toMatchObject({
      fileCount: 1,
      files: [{ path: 'made.txt' }],
      patch: expect.stringContaining('+made'),
    });
    expect(existsSync(join(project.root, 'made.txt'))).toBe(false);
    expect(await call('apply', { run: runId })).toMatchObject({ applied: ['made.txt'], fileCount: 1 });
    expect(readFileSync(join(project.root, 'made.txt'), 'utf8')).toBe('made\n');
    const acts = (await project.events(String(runId))).filter(({ type }) => type === 'visitor.acted');
    expect(acts).toMatchObject([
      { client: 'mcp: a test', operation: 'dispatch' },
      { client: 'mcp: a test', operation: 'apply' },
    ]);
    expect(await call('list', { status: 'done' })).toMatchObject({ runs: [{ runId, status: 'done' }] });
    expect(await statusOf(project, runId)).toBe('done');
  });

  it('a wait is bounded and reports progress, and a cancel ends the run', async () => {
    const project = createProject();
    const { call } = await connectMcp(project);
    const { runId } = await call('dispatch', shell(HOLDS));
    const reports: string[] = [];
    const waited = await call('wait', { run: runId, timeoutSeconds: 4 }, ({ message }) =>
      reports.push(message ?? ''),
    );
    expect(waited).toMatchObject({ runId, isEnded: false });
    expect(reports.length).toBeGreaterThan(1);
    await call('cancel', { run: runId });
    expect(await call('wait', { run: runId, timeoutSeconds: 60 })).toMatchObject({
      status: 'cancelled',
      isEnded: true,
    });
  });

  it('a wait may be a task of MCP, which the client polls', async () => {
    const project = createProject();
    const { client, call } = await connectMcp(project);
    const { runId } = await call('dispatch', shell('echo from the task'));
    const stream = client.experimental.tasks.callToolStream(
      { name: 'wait', arguments: { run: runId } },
      CallToolResultSchema,
      { task: { ttl: 60_000 } },
    );
    const kinds: string[] = [];
    let last: unknown;
    for await (const message of stream) {
      kinds.push(message.type);
      if (message.type === 'result') last = message.result.structuredContent;
    }
    expect(kinds[0]).toBe('taskCreated');
    expect(last).toMatchObject({ runId, status: 'done', stdout: 'from the task\n' });
  });

  it('a client gets no more than the server allows', async () => {
    const project = createProject({ config: 'network:\n  hosts: ["registry.example:443"]\n' });
    const { refusal, call } = await connectMcp(
      project,
      '--mode',
      'suggest',
      '--budget',
      '1',
      '--session',
      'night',
    );
    const exceeded = { code: 'GRANT_EXCEEDED', remedy: expect.any(String) };
    const task = shell('true');
    expect(await refusal('dispatch', { ...task, mode: 'full-auto' })).toMatchObject(exceeded);
    expect(await refusal('dispatch', { ...task, sandbox: 'none' })).toMatchObject(exceeded);
    expect(await refusal('dispatch', { ...task, budgetUsd: 2 })).toMatchObject(exceeded);
    expect(await refusal('dispatch', { ...task, session: 'day' })).toMatchObject(exceeded);
    expect(await refusal('dispatch', { ...task, hosts: ['other.example:443'] })).toMatchObject(exceeded);
    expect(await refusal('dispatch', { ...task, network: 'full' })).toMatchObject({ code: 'USAGE' });
    expect(await refusal('dispatch', {})).toMatchObject({ code: 'USAGE' });
    expect(await refusal('status', { run: 'run_none' })).toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await call('list')).toEqual({ runs: [] });
    const { runId, granted } = await call('dispatch', { ...task, hosts: [] });
    expect(granted).toEqual({ mode: 'suggest', budgetUsd: 1, session: 'night' });
    await call('wait', { run: runId, timeoutSeconds: 60 });
    const { stdout } = await project.caisson('show', String(runId), '-o', 'json');
    const { result } = JSON.parse(stdout) as { result: { policy: { grant: unknown } } };
    expect(result.policy.grant).toMatchObject({
      mode: 'suggest',
      hosts: [],
      sandbox: 'bwrap',
      budget: { usd: 1 },
    });
  });

  it('never works in the own folder of the user: a project that is not in git is refused', async () => {
    const project = createProject({ git: false });
    const { refusal } = await connectMcp(project);
    expect(await refusal('dispatch', shell('echo made > made.txt'))).toMatchObject({
      code: 'TASK_REFUSED',
      message: expect.stringContaining('not in a git repository'),
      remedy: expect.stringContaining('git init'),
    });
    expect(existsSync(join(project.root, 'made.txt'))).toBe(false);
  });

  it('has only the tools of its scopes', async () => {
    const project = createProject();
    const names = async (...options: string[]): Promise<string[]> => {
      const { client } = await connectMcp(project, ...options);
      return (await client.listTools()).tools.map(({ name }) => name).toSorted();
    };
    const reading = ['board', 'diff', 'list', 'status', 'wait'];
    expect(await names('--read-only')).toEqual(reading);
    expect(await names('--scope', 'run')).toEqual([...reading, 'cancel', 'dispatch'].toSorted());
    const { client } = await connectMcp(project, '--read-only');
    await expect(client.callTool({ name: 'dispatch', arguments: shell('true') })).rejects.toThrow(
      'no tool dispatch',
    );
    expect((await project.caisson('mcp', '--read-only', '--scope', 'run')).code).toBe(2);
    expect((await project.caisson('mcp', '--scope', 'all')).stderr).toContain('read,run,decide');
  });

  it('does not apply risky files, nor work whose check did not pass', async () => {
    const project = createProject();
    const { call, refusal } = await connectMcp(project);
    const risky = await call(
      'dispatch',
      shell('mkdir -p .github/workflows; echo "on: push" > .github/workflows/ci.yml'),
    );
    await call('wait', { run: risky['runId'], timeoutSeconds: 60 });
    expect(await refusal('apply', { run: risky['runId'] })).toMatchObject({
      code: 'NOT_APPLIED',
      message: expect.stringContaining('.github/workflows/ci.yml'),
      remedy: expect.stringContaining('--allow-risky'),
    });
    const unchecked = await call('dispatch', { ...shell('echo x > x.txt'), verify: 'false' });
    await call('wait', { run: unchecked['runId'], timeoutSeconds: 60 });
    expect(await refusal('apply', { run: unchecked['runId'] })).toMatchObject({ code: 'NOT_APPLIED' });
    expect(existsSync(join(project.root, 'x.txt'))).toBe(false);
  });

  it('answers the question of a run, and another run goes on', async () => {
    const project = createProject();
    const { call } = await connectMcp(project);
    const asks = `echo '{"question":"which port?"}' > .caisson/needs_input.json`;
    const { runId } = await call('dispatch', shell(asks));
    expect(await call('wait', { run: runId, timeoutSeconds: 60 })).toMatchObject({
      status: 'waiting',
      question: { status: 'open', text: 'which port?' },
    });
    const next = await call('answer', { run: runId, answer: '8080' });
    expect(next['runId']).not.toBe(runId);
    await call('wait', { run: next['runId'], timeoutSeconds: 60 });
    expect(await statusOf(project, runId)).toBe('answered');
  });

  it('does not answer a run that has more than a client could ask for', async () => {
    const agents = 'agents: { narrow: { runtime: native, grant: { hosts: ["a.example:443"] } } }';
    const config = `network: { hosts: ["a.example:443", "b.example:443"] }\n${agents}\n`;
    const project = createProject({ config, env: { KEY: 'secret-value-4711' } });
    const { refusal, call } = await connectMcp(project);
    const wide = { task: 'look', agent: 'narrow', hosts: ['b.example:443'] };
    expect(await refusal('dispatch', wide)).toMatchObject({ code: 'GRANT_EXCEEDED' });
    const asks = ['--', 'sh', '-c', `echo '{"question":"which port?"}' > .caisson/needs_input.json`];
    const more: [why: string, ...options: string[]][] = [
      ['reaches c.example:443', '--network', 'hosts=c.example:443'],
      ['was given secrets', '--secret', 'KEY=env:KEY'],
      ['own folder', '--workspace', 'in-place'],
    ];
    for (const [why, ...options] of more) {
      const { runId, status, cli } = await project.run(...options, ...asks);
      expect(status, cli.stdout).toBe('waiting');
      expect(await refusal('answer', { run: runId, answer: '80' })).toMatchObject({
        code: 'GRANT_EXCEEDED',
        message: expect.stringContaining(why),
        remedy: expect.stringContaining(`caisson answer ${runId}`),
      });
      expect(await statusOf(project, runId)).toBe('waiting');
    }
    const { runId } = await project.run('--network', 'hosts=b.example:443', ...asks);
    const next = await call('answer', { run: runId, answer: '80' });
    await call('wait', { run: next['runId'], timeoutSeconds: 60 });
  });

  it('a key never starts a second run, also after a restart of the server, and belongs to its session', async () => {
    const project = createProject();
    const first = await connectMcp(project);
    const asked = { ...shell('true'), idempotencyKey: 'once' };
    const { runId, granted } = await first.call('dispatch', asked);
    expect(granted).toEqual({ mode: 'auto-edit' });
    await first.client.close();
    const again = await (await connectMcp(project, '--mode', 'suggest')).call('dispatch', asked);
    expect(again).toEqual({ runId, isEarlier: true, next: expect.any(String) });
    const other = await (await connectMcp(project, '--session', 'other')).call('dispatch', asked);
    expect(other['runId']).not.toBe(runId);
  });

  it('reads and writes the board of a session', async () => {
    const project = createProject();
    const { call } = await connectMcp(project);
    await call('board', { session: 'release', key: 'port', value: 8080 });
    const { entries } = await call('board', { session: 'release' });
    expect(entries).toMatchObject([{ key: 'port', items: [{ value: 8080, by: { agent: 'mcp: a test' } }] }]);
  });

  it('uses the daemon, and goes on when it ends', async () => {
    const project = createProject();
    expect((await project.caisson('up', '-d')).code).toBe(0);
    const { call } = await connectMcp(project);
    const { runId } = await call('dispatch', shell('echo by the daemon'));
    expect(await call('wait', { run: runId, timeoutSeconds: 60 })).toMatchObject({ status: 'done' });
    expect((await project.caisson('down')).code).toBe(0);
    expect(await call('status', { run: runId })).toMatchObject({ stdout: 'by the daemon\n' });
    const second = await call('dispatch', shell('true'));
    expect(await call('wait', { run: second['runId'], timeoutSeconds: 60 })).toMatchObject({
      status: 'done',
    });
  });

  it('a run outlives its client', async () => {
    const project = createProject();
    const { client, call } = await connectMcp(project);
    const { runId } = await call('dispatch', shell(HOLDS));
    await until('it runs', async () => (await statusOf(project, runId)) === 'running');
    await client.close();
    expect(await statusOf(project, runId)).toBe('running');
    await project.caisson('send', String(runId), 'go on');
    await until('it has ended', async () => (await statusOf(project, runId)) === 'done', 30_000);
  });

  it('is refused inside a run, which has no way to its project', async () => {
    const project = createProject();
    for (const part of ['bin', 'dist', 'package.json'])
      cpSync(join(ROOT, 'packages/cli', part), join(project.root, 'caisson', part), { recursive: true });
    const ran = await project.caisson('run', '--', 'node', 'caisson/bin/caisson.js', 'mcp');
    expect(ran.code).not.toBe(0);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toMatch(/caisson mcp cannot work inside run_.*--tool dispatch/);
  });
});
