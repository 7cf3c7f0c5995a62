/** Who may start a run, and no more, gets no more by the name of an agent or a runtime than the project gives every run. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectMcpHttp } from './mcp-client.ts';
import { createProject, type Project } from './project.ts';
import { openVisit, type Visit } from './visit.ts';

const AGENTS = `
runtime: command
network: { hosts: ["ours.example:443"] }
agents:
  deployer: { runtime: command, envs: [prod] }
  traveller: { runtime: command, grant: { hosts: ["*"] } }
  plain: { runtime: command, grant: { hosts: ["ours.example:443"] } }
envs: { prod: { secrets: { PROD_TOKEN: "env:PROD_TOKEN" } } }
runtimes: { claude-code: { bin: ./program, login: mount } }
`;
const ASKS = `echo '{"question":"which?"}' > .caisson/needs_input.json`;

/** What the user's own file says is agreed to: these are the user's agents, bundles and log-ins. */
function openProject(): Project {
  const project = createProject();
  const home = project.env['HOME'] ?? '';
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text, { mode: 0o600 });
  };
  put('program', '#!/bin/sh\necho 99.0.0\n');
  chmodSync(join(home, 'program'), 0o755);
  put('.config/caisson/config.yaml', AGENTS.replace('./program', join(home, 'program')));
  put(
    '.claude/.credentials.json',
    JSON.stringify({ claudeAiOauth: { accessToken: 'a', refreshToken: 'r', expiresAt: 9e12 } }),
  );
  project.env['PROD_TOKEN'] = 'a-secret-of-production';
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  return project;
}

async function start(visit: Visit, token: string, request: object): Promise<[number, string]> {
  const { status, text } = await visit.ask('POST', '/v1/runs', { token, body: { request } });
  return [status, text];
}

describe('a run of a token without admin', { timeout: 120_000 }, () => {
  it('gets no bundle, no host and no log-in by a name; with admin it does', async () => {
    const visit = await openVisit(openProject());
    const run = await visit.createToken('run');
    const argv = { argv: ['true'] };
    const refused = async (request: object): Promise<string> => {
      const [status, text] = await start(visit, run, request);
      expect([status, text]).toEqual([422, expect.stringContaining('more than the project gives every run')]);
      return text;
    };
    expect(await refused({ ...argv, agent: 'deployer' })).toContain('envs prod@');
    expect(await refused({ ...argv, agent: 'traveller' })).toContain('hosts * is not among ours.example:443');
    expect(await refused({ task: 'read it', runtime: 'claude-code' })).toContain('log-in of the user');
    expect((await start(visit, run, { ...argv, agent: 'plain' }))[0]).toBe(201);
    for (const agent of ['deployer', 'traveller'])
      expect((await start(visit, visit.token, { ...argv, agent }))[0]).toBe(201);
  });

  it('nor over MCP, whatever the scopes of the token', async () => {
    const visit = await openVisit(openProject());
    const { call, refusal } = await connectMcpHttp(visit.url, visit.token);
    for (const asked of [{ agent: 'deployer' }, { agent: 'traveller' }, {}])
      expect(await refusal('dispatch', { task: 'read it', runtime: 'claude-code', ...asked })).toMatchObject({
        message: expect.stringContaining('more than the project gives every run') as string,
      });
    expect(await call('dispatch', { command: ['true'] })).toMatchObject({
      runId: expect.any(String) as string,
    });
  });

  it('nor by answering for one that has it, or by a message to it', async () => {
    const project = openProject();
    const visit = await openVisit(project);
    const [decide, run] = [await visit.createToken('decide'), await visit.createToken('run')];
    const answer = (runId: string) =>
      visit.ask('POST', `/v1/questions/${runId}/answer`, { token: decide, body: { answer: 'that' } });
    const mcp = await connectMcpHttp(visit.url, decide);
    const open = ['--sandbox', 'none', '--network', 'full'];
    for (const [more, said] of [
      [open, 'sandbox none'],
      [['--env-bundle', 'prod'], 'envs prod@'],
      [['--secret', 'PROD_TOKEN=env:PROD_TOKEN'], 'secret PROD_TOKEN'],
      [['--workspace', 'in-place'], 'in the folder itself'],
    ] as const) {
      const asks =
        more === open ? `echo '{"question":"which?"}' > "$CAISSON_MAILBOX/needs_input.json"` : ASKS;
      const { runId, status } = await project.run(...more, '--', 'sh', '-c', asks);
      expect([more, status]).toEqual([more, 'waiting']);
      const refused = await answer(runId);
      expect([refused.status, refused.json()['code']]).toEqual([403, 'SCOPE_MISSING']);
      expect(refused.json()['remedy']).toContain(said);
      expect(await mcp.refusal('answer', { run: runId, answer: 'that' })).toHaveProperty('message');
    }
    const { runId } = await project.run('--', 'sh', '-c', ASKS);
    expect((await answer(runId)).status).toBe(200);

    const body = { request: { argv: ['sleep', '60'], sandbox: 'none', network: { kind: 'full' } } };
    const started = await visit.ask('POST', '/v1/runs', { body });
    const { runId: unboxed } = started.json<{ runId: string }>();
    const send = (token: string) =>
      visit.ask('POST', `/v1/runs/${unboxed}/messages`, { token, body: { body: 'do it' } });
    const refused = await send(run);
    expect([refused.status, refused.json()['code']]).toEqual([403, 'SCOPE_MISSING']);
    expect((await send(visit.token)).json()['code']).not.toBe('SCOPE_MISSING');
    await visit.ask('POST', `/v1/runs/${unboxed}/cancel`, { body: { force: true } });
  });
});

it(
  'outside git no run that another run or a token starts works in the folder of the user',
  { timeout: 120_000 },
  async () => {
    const project = createProject({ git: false });
    onTestFinished(async () => void (await project.caisson('down', '--now')));
    const visit = await openVisit(project);
    const request = { argv: ['sh', '-c', 'echo made > made.txt'] };
    const grant = {
      ...{ mode: 'auto-edit', read: ['/'], write: [project.root], hosts: [], tools: ['*'] },
      ...{ limits: {}, budget: {}, depth: 3, sandbox: 'bwrap' },
    };
    const parent = { runId: `run_${'0'.repeat(20)}`, grant };
    const child = await start(visit, visit.token, { ...request, parent });
    expect(child).toEqual([422, expect.stringContaining('not in a git repository')]);
    expect((await start(visit, await visit.createToken('run'), request))[0]).toBe(422);
    expect(existsSync(join(project.root, 'made.txt'))).toBe(false);
  },
);
