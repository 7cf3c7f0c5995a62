import { userInfo } from 'node:os';
import { startModelServer, type ModelServer, type ScriptInput } from '@caisson/testkit';
import type { DispatchResult, WireEvent } from '@caisson/protocol';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findAgentBin, installAgent, PINNED_AGENTS } from '../agents/install-agents.mjs';
import { createProject, finish, parseLines, until, type Project } from './project.ts';
import { openTerminal } from './on-terminal.ts';
import { openVisit } from './visit.ts';

const LIMIT_MS = 120_000;

/** A project whose agents talk to a scripted model. */
async function createScripted(
  script: ScriptInput | ModelServer,
  options: { runtime?: string; more?: string; tools?: string } = {},
): Promise<Project> {
  const server = 'url' in script ? script : await startModelServer({ script });
  onTestFinished(() => server.stop());
  const runtime = options.runtime ?? 'claude-code';
  const bin = await binOf(runtime);
  return createProject({
    env: { MODEL_KEY: 'scripted-key', CAISSON_HEARTBEAT_MS: '200' },
    config: [
      'runtimes:',
      `  ${runtime}:`,
      `    endpoint: "${server.url}"`,
      '    apiKey: env:MODEL_KEY',
      '    model: scripted-model',
      ...(bin === null ? [] : [`    bin: "${bin}"`]),
      'agents:',
      `  worker: { runtime: ${runtime}, tools: [${options.tools ?? '"*"'}] }`,
      `  bare: { runtime: ${runtime} }`,
      options.more ?? '',
      '',
    ].join('\n'),
  });
}

async function binOf(runtime: string): Promise<string | null> {
  const agent = PINNED_AGENTS.find(({ name }) => name === runtime);
  if (agent === undefined) return null;
  return findAgentBin(runtime) ?? installAgent(agent);
}

test('what a person sends reaches the native agent while it works', { timeout: LIMIT_MS }, async () => {
  const wait = 'until [ -s .caisson/channel/inbox.jsonl ]; do sleep 0.05; done';
  const server = await startModelServer({ script: [run(wait), { say: 'Received.' }] });
  const project = await createScripted(server, { runtime: 'native' });
  await project.trust();
  const running = follow(project, 'wait for me', '--agent', 'bare');
  await until('the first request', () => server.modelRequests().length > 0);
  const accepted = await running.seen('dispatch.started');
  const sent = await project.caisson('send', String(accepted['runId']), 'skip the Windows tests');
  expect(sent.code).toBe(0);
  expect((await running.ended).code).toBe(0);
  expect(running.events().map(({ type }) => type)).toContain('channel.received');
  expect(JSON.stringify(server.modelRequests().at(-1)?.body)).toContain('skip the Windows tests');
});

const ofType = (events: readonly WireEvent[], type: string): WireEvent[] =>
  events.filter((event) => event.type === type);

const denials = (events: readonly WireEvent[]) =>
  ofType(events, 'policy.denied').map(
    (event) => event['denial'] as { layer: string; what: string; rule: string },
  );

/** Starts a run and follows its events; `seen` waits for one of a type. */
function follow(project: Project, ...args: string[]) {
  const child = project.start('run', '-o', 'ndjson', ...args);
  const ended = finish(child);
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  const events = (): WireEvent[] => parseLines(text.slice(0, text.lastIndexOf('\n') + 1));
  return {
    ended,
    events,
    child,
    seen: (type: string) => until(type, () => events().find((event) => event.type === type), 60_000),
  };
}

const run = (command: string) => ({ tool: { intent: 'run-command' as const, command } });
const mcp = (tool: string, input: Record<string, unknown>) => ({
  tool: { intent: 'mcp' as const, tool, arguments: input },
});

describe('coordination tools', () => {
  test('what one run puts on the board, another of the session reads', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([
      {
        when: 'tell the others',
        turns: [
          mcp('board_write', { key: 'port', value: 4711 }),
          mcp('report_context', { key: 'entry', value: { file: 'src/main.ts' } }),
          { say: 'On the board.' },
        ],
      },
      {
        when: 'what do they say',
        turns: [mcp('board_read', { key: 'port' }), mcp('read_context', {}), { say: 'Seen.' }],
      },
    ]);
    const first = await project.run('tell the others', '--agent', 'worker', '--session', 'pair');
    expect(first).toMatchObject({ status: 'done', reply: 'On the board.' });
    const second = await project.run('what do they say', '--agent', 'worker', '--session', 'pair');
    expect(second).toMatchObject({ status: 'done' });
    expect(second.stdout).toContain('4711');
    expect(second.stdout).toContain('src/main.ts');
    const board = JSON.parse(
      (await project.caisson('board', '--session', 'pair', '-o', 'json')).stdout,
    ) as unknown;
    expect(board).toMatchObject([
      {
        namespace: 'default',
        key: 'port',
        items: [{ value: 4711, by: { runId: first.runId, attempt: 1, agent: 'worker' } }],
      },
    ]);
    const context = JSON.parse(
      (await project.caisson('context', '--session', 'pair', '-o', 'json')).stdout,
    ) as unknown;
    expect(context).toMatchObject([
      { seq: 1, key: 'entry', source: { runId: first.runId, agent: 'worker' } },
    ]);
  });

  test('a run whose grant names no tool is offered none', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([mcp('board_write', { key: 'a', value: 1 }), { say: 'Done.' }]);
    const ended = await project.run('write it', '--agent', 'bare', '--session', 'pair');
    expect(ended.status).toBe('done');
    const board = await project.caisson('board', '--session', 'pair', '-o', 'json');
    expect(JSON.parse(board.stdout)).toEqual([]);
  });

  test('only the tools that the grant names are offered', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted(
      [
        mcp('board_write', { key: 'a', value: 1 }),
        mcp('report_context', { key: 'b', value: 2 }),
        { say: 'Done.' },
      ],
      { tools: 'report_context' },
    );
    const ended = await project.run('write it', '--agent', 'worker', '--session', 'pair');
    expect(ended.status).toBe('done');
    expect(JSON.parse((await project.caisson('board', '--session', 'pair', '-o', 'json')).stdout)).toEqual(
      [],
    );
  });

  test('a question raised through the tool ends the run as waiting', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([
      mcp('ask', { question: 'Which port?', options: ['80', '8080'] }),
      { say: 'I wait.' },
    ]);
    const ended = await project.run('choose a port', '--agent', 'worker');
    expect(ended).toMatchObject({ status: 'waiting', cli: { code: 3 } });
    const questions = JSON.parse((await project.caisson('questions', '-o', 'json')).stdout) as unknown;
    expect(questions).toMatchObject([{ runId: ended.runId, text: 'Which port?', options: ['80', '8080'] }]);
  });

  test('an agent dispatches another, which never gets more than it has', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([
      {
        when: 'parent task',
        turns: [
          mcp('dispatch', { task: 'child task', agent: 'worker', mode: 'full-auto' }),
          { say: 'Both done.' },
        ],
      },
      {
        when: 'child task',
        turns: [
          { tool: { intent: 'write-file', path: 'child.txt', content: 'from the child\n' } },
          { say: 'Child done.' },
        ],
      },
    ]);
    const parent = await project.run('parent task', '--agent', 'worker', '--mode', 'auto-edit');
    expect(parent).toMatchObject({ status: 'done', reply: 'Both done.' });
    expect(parent.stdout).toContain('Child done.');
    const rows = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[];
    expect(rows).toHaveLength(2);
    const childId = rows.find(({ runId }) => runId !== parent.runId)?.runId ?? '';
    expect(parent.stdout).toContain(`.caisson/${childId}.patch`);
    const grantOf = async (runId: string) =>
      (await project.events(runId)).find(({ type }) => type === 'dispatch.accepted')?.['grant'] as Record<
        string,
        unknown
      >;
    const given = await grantOf(parent.runId);
    expect(await grantOf(childId)).toEqual({ ...given, depth: Number(given['depth']) - 1 });
    expect((await project.caisson('diff', childId)).stdout).toContain('from the child');

    const again = await project.caisson('retry', childId, '-o', 'json');
    const repeated = (JSON.parse(again.stdout) as { runId: string }).runId;
    expect(await grantOf(repeated)).toMatchObject({ mode: 'auto-edit' });
  });
});

test('an agent cannot get at secrets by dispatching one that has them', { timeout: LIMIT_MS }, async () => {
  const project = await createScripted(
    [
      {
        when: 'parent task',
        turns: [mcp('dispatch', { task: 'child task', agent: 'keyed' }), { say: 'Over.' }],
      },
      { when: 'child task', turns: [{ say: 'Child done.' }] },
    ],
    {
      more: [
        '  keyed: { runtime: claude-code, tools: ["*"], envs: [prod] }',
        'envs: { prod: { secrets: { PROD_TOKEN: env:MODEL_KEY } } }',
      ].join('\n'),
    },
  );
  const without = await project.run('parent task', '--agent', 'worker');
  expect(without.stdout).toContain('brings the env bundle prod@');
  expect(JSON.parse((await project.caisson('runs', '-o', 'json')).stdout)).toHaveLength(1);
  const having = await project.run('parent task', '--agent', 'worker', '--env-bundle', 'prod');
  expect(having.stdout).toContain('Child done.');
  expect(having.result?.policy.grant.envs).toEqual([expect.stringMatching(/^prod@[0-9a-f]{12}$/)]);
});

describe('the gate', () => {
  test(
    'a forced push is denied in auto-edit, and the agent gets the reason',
    { timeout: LIMIT_MS },
    async () => {
      const project = await createScripted([
        run('git push --force origin main'),
        { say: 'I could not push.' },
      ]);
      const ended = await project.run('push it', '--agent', 'bare', '--mode', 'auto-edit');
      expect(ended).toMatchObject({ status: 'done', reply: 'I could not push.' });
      expect(ended.stdout).toContain('Denied by policy');
      expect(denials(await project.events(ended.runId))).toMatchObject([
        { layer: 'gate', what: 'Bash: git push --force origin main', actionClass: 'git_destructive' },
      ]);
    },
  );

  test('a rule of the project is reported with its reason', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([run('npm publish'), { say: 'Not published.' }], {
      more: 'policy: { rules: [ { command: "npm publish", action: deny, reason: "releases are made by people" } ] }',
    });
    const ended = await project.run('publish it', '--agent', 'bare', '--mode', 'full-auto');
    expect(ended.stdout).toContain('releases are made by people');
    expect(denials(await project.events(ended.runId))).toMatchObject([
      { layer: 'gate', rule: 'deny npm publish' },
    ]);
  });

  test('a held call goes on once another process approves it', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([run('rm -rf old'), { say: 'Removed.' }]);
    project.write('old/file.txt', 'old\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'old');
    await project.trust();
    const running = follow(project, 'clean up', '--agent', 'bare', '--mode', 'full-auto');
    const asked = await running.seen('approval.requested');
    expect(asked).toMatchObject({ tool: 'Bash', what: 'Bash: rm -rf old', actionClass: 'bash_destructive' });
    const id = String(asked['approvalId']);
    const listed = JSON.parse((await project.caisson('approvals', '-o', 'json')).stdout) as unknown;
    expect(listed).toMatchObject([{ approvalId: id, status: 'open' }]);
    const [row] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as unknown[];
    expect(row).toMatchObject({ waitsFor: { kind: 'approval', id, text: 'Bash: rm -rf old' } });
    expect((await project.caisson('runs', '--wide')).stdout).toContain('running, waits for you');
    expect((await project.caisson('show')).stdout).toContain(`  caisson approve ${id}\n`);
    await until('why it stalls', () =>
      ofType(running.events(), 'run.stalled').some(({ reason }) => reason === 'waiting-permission'),
    );
    const runId = String(asked['runId']);
    expect((await project.caisson('approve', runId)).code).toBe(0);
    const late = await project.caisson('deny', id);
    expect(late.code).toBe(1);
    expect(late.stderr).toContain('already');
    expect((await running.ended).code).toBe(0);
    expect(ofType(running.events(), 'approval.decided')).toMatchObject([
      { approvalId: id, decision: 'allow', by: 'user' },
    ]);
    expect(ofType(await project.events(runId), 'visitor.acted')).toMatchObject([
      { by: userInfo().username, operation: 'decide', target: runId, decision: 'allow' },
    ]);
    expect((await project.caisson('diff', runId)).stdout).toContain('deleted file');
  });

  test(
    'all that a held call was given can be read, from a shell and over HTTP',
    { timeout: LIMIT_MS },
    async () => {
      const middle = 'the middle of a long file, with a \u001b[2J';
      const lines = Array.from({ length: 400 }, (_, line) => (line === 200 ? middle : `line ${line}`));
      const command = `cat > notes.txt <<'END'\n${lines.join('\n')}\nEND\nrm -rf old`;
      const server = await startModelServer({ script: [run(command), { say: 'Done.' }] });
      const project = await createScripted(server, { runtime: 'native' });
      await project.trust();
      const running = follow(project, 'clean up', '--agent', 'bare', '--mode', 'full-auto');
      const asked = await running.seen('approval.requested');
      const id = String(asked['approvalId']);
      expect(asked['what']).not.toContain('the middle');
      expect(asked['call']).toMatchObject({ ref: expect.any(String), leftOut: 0 });
      const shown = await project.caisson('approvals', id);
      expect(shown.stdout).toContain('    line 199\n      the middle of a long file, with a \\u001b[2J\n');
      expect(shown.stdout).toContain(`\n  caisson approve ${id}\n`);
      const whole = JSON.parse(
        (await project.caisson('approvals', 'latest', '-o', 'json')).stdout,
      ) as unknown;
      expect(whole).toMatchObject({
        approvalId: id,
        call: { text: expect.stringContaining(middle), leftOut: 0 },
      });
      const visit = await openVisit(project);
      onTestFinished(async () => void (await project.caisson('down', '--now')));
      const answer = await visit.ask('GET', `/v1/approvals/${id}`, {
        token: await visit.createToken('read'),
      });
      expect(answer.json()).toEqual(whole);
      const none = await visit.ask('GET', '/v1/approvals/approval_none');
      expect([none.status, none.json()['code']]).toEqual([409, 'APPROVAL_CLOSED']);
      expect((await project.caisson('approvals', '--all', id)).code).toBe(2);
      await project.caisson('deny', id);
      expect((await running.ended).code).toBe(0);
      await project.caisson('gc', '--older-than', '0s');
      expect((await project.caisson('approvals', id)).stdout).toContain('the middle');
      await project.caisson('forget', String(asked['runId']));
      expect((await project.caisson('approvals', id)).stdout).toContain('all that was recorded');
    },
  );

  test('a waiting call without a decision is denied at its deadline', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([run('rm -rf README.md ..data'), { say: 'Still here.' }], {
      more: 'questions: { approvalDeadline: 500ms }',
    });
    await project.trust();
    const line = ['run', 'clean up', '--agent', 'bare', '--mode', 'full-auto', '-o', 'json'];
    const { stdout, stderr } = await project.caisson(...line);
    expect(stderr).toMatch(
      /waits for your decision: Bash: rm -rf README\.md \.\.data\n.*: caisson approvals approval_\w+\n.*: caisson approve approval_\w+\n.*: caisson deny approval_\w+\n {2}without an answer it is denied in \d+ ms/,
    );
    const ended = JSON.parse(stdout) as DispatchResult;
    expect(ended).toMatchObject({ status: 'done', reply: 'Still here.' });
    expect(ended.stdout).toContain('did not answer in time');
    const events = await project.events(ended.runId);
    expect(ofType(events, 'approval.decided')).toMatchObject([{ decision: 'deny', by: 'deadline' }]);
    expect(denials(events)).toMatchObject([{ layer: 'gate' }]);
    expect((await project.caisson('diff', ended.runId)).stdout).toBe('');
  });

  test('a held call is asked about on the terminal', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([run('rm -rf old'), { say: 'Removed.' }]);
    project.write('old/file.txt', 'old\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'old');
    await project.trust();
    const screen = openTerminal(project, ['run', 'clean up', '--agent', 'bare', '--mode', 'full-auto']);
    await until('the question', () => screen.screen().includes('[y/N]'), 20_000).catch((error: unknown) => {
      throw new Error(screen.screen(), { cause: error });
    });
    screen.type('y\n');
    expect(await screen.ended).toBe(0);
    const [approval] = JSON.parse(
      (await project.caisson('approvals', '--all', '-o', 'json')).stdout,
    ) as unknown[];
    expect(approval).toMatchObject({ what: 'Bash: rm -rf old', status: 'allowed', by: 'user' });
  });

  test('a held call of a run that is cancelled is closed with it', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([run('rm -rf old'), { say: 'Removed.' }]);
    await project.trust();
    const running = follow(project, 'clean up', '--agent', 'bare', '--mode', 'full-auto');
    const asked = await running.seen('approval.requested');
    await project.caisson('cancel', String(asked['runId']));
    expect((await running.ended).code).toBe(130);
    const types = running.events().map(({ type }) => type);
    expect(ofType(running.events(), 'approval.decided')).toMatchObject([{ decision: 'deny', by: 'ending' }]);
    expect(types.indexOf('approval.decided')).toBeLessThan(types.indexOf('dispatch.cancelled'));
    expect(JSON.parse((await project.caisson('approvals', '-o', 'json')).stdout)).toEqual([]);
  });

  test(
    'a waiting call whose host is killed is denied by the next reader',
    { timeout: LIMIT_MS },
    async () => {
      const project = await createScripted([run('rm -rf old'), { say: 'Removed.' }]);
      await project.trust();
      const running = follow(project, 'clean up', '--agent', 'bare', '--mode', 'full-auto');
      const asked = await running.seen('approval.requested');
      running.child.kill('SIGKILL');
      await running.ended;
      expect(JSON.parse((await project.caisson('approvals', '-o', 'json')).stdout)).toEqual([]);
      const events = await project.events(String(asked['runId']));
      expect(ofType(events, 'approval.decided')).toMatchObject([{ decision: 'deny', by: 'ending' }]);
      expect(ofType(events, 'dispatch.failed')).toMatchObject([{ failure: { reason: 'lost' } }]);
      const late = await project.caisson('approve', String(asked['approvalId']));
      expect(late.code).toBe(1);
    },
  );

  test('the same denied call five times ends the run', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([
      ...Array.from({ length: 9 }, () => run('git push --force')),
      { say: 'x' },
    ]);
    const ended = await project.run('push it', '--agent', 'bare');
    expect(ended).toMatchObject({
      status: 'error',
      failure: { reason: 'policy-denied', cause: 'loop' },
      cli: { code: 4 },
    });
    expect(denials(await project.events(ended.runId))).toHaveLength(5);
  });

  test('the same failing call five times ends the run', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted([
      ...Array.from({ length: 9 }, () => run('ls nowhere')),
      { say: 'x' },
    ]);
    const ended = await project.run('look', '--agent', 'bare', '--retries', '0');
    expect(ended).toMatchObject({ status: 'error', failure: { reason: 'provider-failed', cause: 'loop' } });
  });
});

// The others have the same cells in the matrix (`npm run test:agents`).
describe.each(['codex', 'native'])('%s', (runtime) => {
  test('has a forced push denied by the gate, and uses the board', { timeout: LIMIT_MS }, async () => {
    const project = await createScripted(
      [
        run('git push --force origin main'),
        mcp('board_write', { key: 'from', value: runtime }),
        { say: 'Done.' },
      ],
      { runtime },
    );
    const ended = await project.run('push and tell', '--agent', 'worker', '--session', 'all');
    expect(ended).toMatchObject({ status: 'done', reply: 'Done.' });
    expect(denials(await project.events(ended.runId))).toMatchObject([
      { layer: 'gate', actionClass: 'git_destructive' },
    ]);
    const board = JSON.parse(
      (await project.caisson('board', '--session', 'all', '-o', 'json')).stdout,
    ) as unknown;
    expect(board).toMatchObject([{ key: 'from', items: [{ value: runtime, by: { runId: ended.runId } }] }]);
  });
});

test('processes that write one board at once lose nothing', { timeout: LIMIT_MS }, async () => {
  const project = createProject();
  const writes = Array.from({ length: 12 }, (_, index) =>
    project.caisson('board', '--session', 's', 'set', 'log', String(index), '--append'),
  );
  for (const write of await Promise.all(writes)) expect(write.stderr).toBe('');
  const [entry] = JSON.parse((await project.caisson('board', '--session', 's', '-o', 'json')).stdout) as {
    items: { value: number }[];
  }[];
  expect(entry?.items.map(({ value }) => value).toSorted((left, right) => left - right)).toEqual(
    Array.from({ length: 12 }, (_, index) => index),
  );
});
