import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { openBoard } from '@caisson/ground';
import { COORDINATION_TOOLS } from '@caisson/protocol';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAttemptFixture, type AttemptFixture, type FixtureOptions } from './attempt-fixture.ts';
import { openCoordination } from './open-coordination.ts';

async function openWith(options: FixtureOptions) {
  const attempt = createAttemptFixture(options);
  const coordination = await openCoordination(attempt.context);
  onTestFinished(async () => {
    await coordination.close();
    attempt.remove();
  });
  const { gate, mcp } = coordination.driverInput;
  return { attempt, coordination, gate, mcp };
}

/** Runs the gate as a program's hook does. */
async function askGate(gate: { command: string; args: readonly string[] } | undefined, call: string) {
  const child = spawn(gate?.command ?? '', [...(gate?.args ?? [])], { stdio: ['pipe', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  child.stdin.end(call);
  const [code] = (await once(child, 'close')) as [number];
  return { code, stderr };
}

const bash = (command: string): string =>
  JSON.stringify({ session_id: 's', tool_name: 'Bash', tool_input: { command } });

async function connect(mcp: { command: string; args: readonly string[] } | undefined): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({ command: mcp?.command ?? '', args: [...(mcp?.args ?? [])] }),
  );
  onTestFinished(() => client.close());
  return client;
}

const textOf = (result: Awaited<ReturnType<Client['callTool']>>): string =>
  (result.content as { text: string }[]).map(({ text }) => text).join('');

const denialsOf = (attempt: AttemptFixture) =>
  attempt.said.flatMap((line) => (line.kind === 'policy.denied' ? [line.denial] : []));

describe.each(['perl', 'node'] as const)('the gate, as a hook runs it in %s,', (shim) => {
  const open = (options: FixtureOptions = {}) => openWith({ shim, ...options });

  test('lets an everyday command pass', async () => {
    const { gate, attempt } = await open();
    expect(await askGate(gate, bash('npm test'))).toEqual({ code: 0, stderr: '' });
    expect(attempt.said).toEqual([]);
  });

  test('denies with exit code 2, a reason and a record', async () => {
    const { gate, attempt } = await open();
    const { code, stderr } = await askGate(gate, bash('git push --force'));
    expect(code).toBe(2);
    expect(stderr).toContain('needs_input.json');
    expect(denialsOf(attempt)).toMatchObject([
      { layer: 'gate', what: 'Bash: git push --force', actionClass: 'git_destructive' },
    ]);
  });

  test('denies what it cannot read', async () => {
    const { gate } = await open();
    expect(await askGate(gate, 'not json')).toMatchObject({ code: 2 });
  });

  test('denies without a listener', async () => {
    const { gate, coordination } = await open();
    await coordination.close();
    expect(await askGate(gate, bash('ls'))).toMatchObject({ code: 2 });
  });

  test('denies what another process allows, in place of the worker', async () => {
    const { gate, attempt } = await open();
    const impostor = join(attempt.folder, 'impostor.sock');
    // Another process: the kernel knows the worker by its pid where there is no namespace.
    const script = `require('net').createServer((s) => s.end('allow\\n')).listen(process.argv[1], () => console.log('up'))`;
    const other = spawn(process.execPath, ['-e', script, impostor], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void other.kill());
    await once(other.stdout, 'data');
    const fooled = gate && {
      ...gate,
      args: gate.args.map((word) => (word.endsWith('tools.sock') ? impostor : word)),
    };
    const { code, stderr } = await askGate(fooled, bash('ls'));
    expect([code, stderr]).toEqual([2, expect.stringContaining('replaced') as string]);
  });

  test('denies in time without an answer: a hook that takes too long counts as a yes', async () => {
    const { gate } = await open({ mode: 'full-auto', answer: () => null });
    const impatient = gate && { ...gate, args: [...gate.args, '1'] };
    const { code, stderr } = await askGate(impatient, bash('rm -rf x'));
    expect([code, stderr]).toEqual([2, 'The gate did not answer in time.\n']);
  });

  test('holds what needs a person, and obeys the answer', async () => {
    const answers = ['allow', 'deny'];
    const { gate, attempt } = await open({
      mode: 'full-auto',
      answer: () => ({ ok: true, value: { decision: answers.shift(), by: 'user' } }),
    });
    expect(await askGate(gate, bash('rm -rf x'))).toMatchObject({ code: 0 });
    const refused = await askGate(gate, bash('rm -rf x'));
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain('said no');
    expect(attempt.said.filter(({ kind }) => kind === 'request')).toMatchObject([
      { request: 'approve', body: { tool: 'Bash', what: 'Bash: rm -rf x', actionClass: 'bash_destructive' } },
      {},
    ]);
    expect(attempt.context.heldCalls).toBe(0);
  });

  test('denies a held call when the run is stopped', async () => {
    const { coordination, attempt } = await open({ mode: 'full-auto', answer: () => null });
    const held = coordination.gate.judge({ tool: 'Bash', input: { command: 'rm -rf x' } });
    await expect.poll(() => attempt.context.heldCalls).toBe(1);
    attempt.stop();
    expect(await held).toMatchObject({ allow: false });
  });

  test('keeps secrets out of what it reports', async () => {
    const secret = 'a-long-secret-value-4711';
    const { gate, attempt } = await open({
      mode: 'full-auto',
      secrets: [{ name: 'TOKEN', value: secret }],
      answer: () => ({ ok: true, value: { decision: 'deny', by: 'user' } }),
    });
    const { stderr } = await askGate(gate, bash(`rm -rf ${secret}`));
    expect(JSON.stringify(attempt.said) + stderr).not.toContain(secret);
  });

  test('takes a call of any size', async () => {
    const { gate } = await open();
    const content = 'x'.repeat(3 * 1024 * 1024);
    const call = JSON.stringify({ tool_name: 'Write', tool_input: { file_path: 'a.txt', content } });
    expect(await askGate(gate, call)).toMatchObject({ code: 0 });
  });

  test('denies a call that is too large to be judged, and says so', async () => {
    const { gate } = await open();
    const content = 'x'.repeat(9 * 1024 * 1024);
    const call = JSON.stringify({ tool_name: 'Write', tool_input: { file_path: 'a.txt', content } });
    const { code, stderr } = await askGate(gate, call);
    expect(code).toBe(2);
    expect(stderr).toContain('cannot be judged');
  });

  test('reports no more denials than a person reads', async () => {
    const { coordination, attempt } = await open();
    for (let index = 0; index < 300; index += 1)
      await coordination.gate.judge({
        tool: 'Bash',
        input: { command: `git push --force origin b${index}` },
      });
    expect(denialsOf(attempt)).toHaveLength(256);
    expect(attempt.said.at(-1)).toMatchObject({ kind: 'warning', source: 'policy' });
  });

  test('ends the run at the fifth denial', async () => {
    const { coordination, attempt } = await open();
    for (let index = 0; index < 5; index += 1)
      await coordination.gate.judge({ tool: 'Bash', input: { command: 'git push --force' } });
    expect(attempt.kills).toBe(1);
    expect(attempt.context.gathered.limit).toMatchObject({ reason: 'policy-denied', cause: 'loop' });
  });

  test.each(['mcp__caisson__board_write', 'mcp_caisson_board_write', 'caisson_board_write'])(
    'knows %s for one of ours',
    async (tool) => {
      const { coordination } = await open({ mode: 'suggest' });
      expect(await coordination.gate.judge({ tool, input: { key: 'a', value: 1 } })).toEqual({ allow: true });
    },
  );
});

describe.each(['perl', 'node'] as const)('the tools, as an MCP client sees them through %s,', (shim) => {
  const open = (options: FixtureOptions = {}) => openWith({ shim, ...options });

  test('are those that the grant names', async () => {
    const { mcp } = await open({ tools: ['board_read', 'ask'] });
    const { tools } = await (await connect(mcp)).listTools();
    expect(tools.map(({ name }) => name)).toEqual(['board_read', 'ask']);
  });

  test('are not offered at all when it names none', async () => {
    const { mcp } = await open({ tools: ['something_else'] });
    expect(mcp).toBeUndefined();
  });

  test('write and read the board, with the source', async () => {
    const { mcp, attempt } = await open({ tools: ['*'] });
    const client = await connect(mcp);
    await client.callTool({ name: 'board_write', arguments: { key: 'port', value: 1, ttl_seconds: 60 } });
    const read = await client.callTool({ name: 'board_read', arguments: { key: 'port' } });
    expect(JSON.parse(textOf(read))).toMatchObject({
      entries: [{ key: 'port', items: [{ value: 1, by: { agent: 'tester' } }] }],
    });
    const [entry] = await openBoard(join(attempt.folder, 'board.json')).read();
    expect(entry?.items[0]?.expiresAt).toBeDefined();
  });

  test('report a mistake as an error the agent can read', async () => {
    const { mcp } = await open({ tools: ['*'] });
    const client = await connect(mcp);
    const result = await client.callTool({ name: 'board_write', arguments: { key: '../x', value: 1 } });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('not a valid name');
  });

  test('put no secret on the board', async () => {
    const secret = 'a-long-secret-value-4711';
    const { mcp, attempt } = await open({ tools: ['*'], secrets: [{ name: 'TOKEN', value: secret }] });
    const client = await connect(mcp);
    await client.callTool({ name: 'board_write', arguments: { key: 'k', value: { token: secret } } });
    await client.callTool({ name: 'report_context', arguments: { key: 'k', value: secret } });
    const names = { key: `a ${secret}`, value: 1 };
    await client.callTool({ name: 'board_write', arguments: { ...names, namespace: `n ${secret}` } });
    await client.callTool({ name: 'report_context', arguments: names });
    for (const name of ['board.json', 'context.json'])
      expect(readFileSync(join(attempt.folder, name), 'utf8')).not.toContain(secret);
  });

  test('raise a question as the sentinel', async () => {
    const { mcp, attempt } = await open({ tools: ['ask'] });
    await (await connect(mcp)).callTool({ name: 'ask', arguments: { question: 'Which?', options: ['a'] } });
    expect(JSON.parse(readFileSync(join(attempt.folder, 'mailbox', 'needs_input.json'), 'utf8'))).toEqual({
      question: 'Which?',
      options: ['a'],
    });
  });

  test('dispatch another run and lay its patch into the mailbox', async () => {
    const runId = 'run_11111111111111111111';
    const { mcp, attempt } = await open({
      tools: ['dispatch'],
      answer: () => ({
        ok: true,
        value: {
          runId,
          status: 'done',
          reply: 'ok',
          patchBytes: 4,
          patch: Buffer.from('diff').toString('base64'),
        },
      }),
    });
    const result = await (
      await connect(mcp)
    ).callTool({ name: 'dispatch', arguments: { task: 'do it', mode: 'full-auto' } });
    expect(JSON.parse(textOf(result))).toMatchObject({
      runId,
      reply: 'ok',
      patchFile: `.caisson/${runId}.patch`,
    });
    expect(readFileSync(join(attempt.folder, 'mailbox', `${runId}.patch`), 'utf8')).toBe('diff');
    expect(attempt.said).toMatchObject([
      { kind: 'request', request: 'dispatch', body: { task: 'do it', mode: 'full-auto' } },
    ]);
  });

  test('dispatch nothing in suggest', async () => {
    const { mcp, attempt } = await open({ mode: 'suggest', tools: ['dispatch'] });
    const result = await (await connect(mcp)).callTool({ name: 'dispatch', arguments: { task: 'do it' } });
    expect(result.isError).toBe(true);
    expect(denialsOf(attempt)).toMatchObject([{ actionClass: 'agent_dispatch' }]);
  });

  test('let go of a client that asks and does not read', { timeout: 30_000 }, async () => {
    const { coordination, attempt } = await open({ tools: ['*'] });
    const board = openBoard(join(attempt.folder, 'board.json'));
    for (let index = 0; index < 40; index += 1)
      await board.write({ key: `k${index}`, value: 'x'.repeat(60_000), by: { runId: null } });
    const socket = connectSocket(coordination.socketPath);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined); // being let go is what we wait for
    const call = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'board_read', arguments: {} } };
    let serial = 0;
    const asking = setInterval(() => {
      serial += 1;
      socket.write(`${JSON.stringify({ ...call, id: serial })}\n`);
    }, 5);
    await gone;
    clearInterval(asking);
    expect(serial).toBeGreaterThan(1);
  });

  test('survive a client that sends garbage', async () => {
    const { mcp, attempt } = await open({ tools: ['*'] });
    const broken = spawn(mcp?.command ?? '', [...(mcp?.args ?? [])], { stdio: ['pipe', 'ignore', 'ignore'] });
    broken.stdin.write('not json\n');
    await once(broken, 'exit');
    writeFileSync(join(attempt.folder, 'still-here'), '');
    const { tools } = await (await connect(mcp)).listTools();
    expect(tools).toHaveLength(COORDINATION_TOOLS.length);
  });
});

test('the rules are made ahead of the first call, while the agent starts', async () => {
  const attempt = createAttemptFixture({});
  const read: PropertyKey[] = [];
  const context = new Proxy(attempt.context, {
    get(target, name) {
      read.push(name);
      return Reflect.get(target, name) as unknown;
    },
  });
  const coordination = await openCoordination(context);
  onTestFinished(async () => {
    await coordination.close();
    attempt.remove();
  });
  read.length = 0;
  coordination.warm();
  await vi.waitFor(() => expect(read).not.toEqual([]), 10_000);
});
