/** What a token may do depends on the run that it names, too. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createBareRemote } from './bare-remote.ts';
import { createProject, type Project, type ProjectOptions } from './project.ts';
import { openVisit, type Visit } from './visit.ts';

const ASKS = `echo '{"question":"which?"}' > .caisson/needs_input.json`;

async function open(options: ProjectOptions = {}): Promise<{ project: Project; visit: Visit }> {
  const project = createProject(options);
  const visit = await openVisit(project);
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  return { project, visit };
}

describe('the scope of a call', { timeout: 120_000 }, () => {
  it('is decide for continuing a run that waits for an answer', async () => {
    const { project, visit } = await open();
    const [run, admin] = [await visit.createToken('run'), visit.token];
    const { runId } = await project.run('--', 'sh', '-c', ASKS);
    const body = { request: { argv: ['true'], continues: runId } };
    const refused = await visit.ask('POST', '/v1/runs', { token: run, body });
    expect([refused.status, refused.json()['code']]).toEqual([403, 'SCOPE_MISSING']);
    expect((await visit.ask('POST', '/v1/runs', { token: admin, body })).status).toBe(201);
  });

  it('is admin for a run that would work in the own folder of the user, because the project is not in git', async () => {
    const { project, visit } = await open({ git: false });
    const [run, admin] = [await visit.createToken('run'), visit.token];
    const body = { request: { argv: ['sh', '-c', 'echo made > made.txt'] } };
    const refused = await visit.ask('POST', '/v1/runs', { token: run, body });
    expect([refused.status, refused.json()['code']]).toEqual([422, 'TASK_REFUSED']);
    expect(refused.json()['remedy']).toContain('git init');
    const { runId } = (await visit.ask('POST', '/v1/runs', { token: admin, body })).json<{ runId: string }>();
    await visit.ask('GET', `/v1/runs/${runId}/ended`);
    expect(existsSync(join(project.root, 'made.txt'))).toBe(true);
  });

  it('is admin for applying work that did not pass its check, which nothing applies unasked', async () => {
    const { project, visit } = await open();
    const decide = await visit.createToken('decide');
    const make = async (check: string): Promise<string> => {
      const options = ['--verify', check, '--verify-lens', 'verify'];
      return (await project.run(...options, '--', 'sh', '-c', `echo ${check} > made`)).runId;
    };
    const [failed, passed] = [await make('false'), await make('true')];
    const apply = (runId: string, token: string, body = {}) =>
      visit.ask('POST', `/v1/runs/${runId}/apply`, { token, body });
    for (const token of [decide, visit.token])
      expect((await apply(failed, token)).json()).toEqual({ kind: 'check-failed', files: [] });
    expect(existsSync(join(project.root, 'made'))).toBe(false);
    const refused = await apply(failed, decide, { evenIfCheckFailed: true });
    expect([refused.status, refused.json()['code']]).toEqual([403, 'SCOPE_MISSING']);
    expect((await apply(passed, decide)).json()).toMatchObject({ kind: 'applied' });
    rmSync(join(project.root, 'made'));
    const asked = await apply(failed, visit.token, { evenIfCheckFailed: true });
    expect(asked.json()).toMatchObject({ kind: 'applied', files: ['made'] });
  });

  it('is admin for applying the work on another repository, which nothing applies here unasked', async () => {
    const { project, visit } = await open();
    const decide = await visit.createToken('decide');
    const remote = createBareRemote();
    const { runId } = await project.run('--repo', remote.path, '--', 'sh', '-c', 'echo x > made');
    const apply = (token: string, body = {}) => visit.ask('POST', `/v1/runs/${runId}/apply`, { token, body });
    const other = { kind: 'other-repository', files: [], remote: remote.path };
    for (const token of [decide, visit.token]) expect((await apply(token)).json()).toEqual(other);
    expect((await apply(decide, { here: true })).status).toBe(403);
    expect((await apply(visit.token, { here: true })).json()).toMatchObject({ kind: 'applied' });
  });

  it('an idempotency key in a request belongs to its token, like one in the header', async () => {
    const { visit } = await open();
    const [one, other] = [await visit.createToken('run'), await visit.createToken('run')];
    const start = async (token: string, headers = {}): Promise<string> => {
      const request = { argv: ['true'], ...('idempotency-key' in headers ? {} : { idempotencyKey: 'k' }) };
      const answer = await visit.ask('POST', '/v1/runs', { token, body: { request }, headers });
      return answer.json<{ runId: string }>().runId;
    };
    const first = await start(one);
    expect(first).toMatch(/^run_/);
    expect(await start(one)).toBe(first);
    expect(await start(one, { 'idempotency-key': 'k' })).toBe(first);
    expect(await start(other)).not.toBe(first);
  });

  it('a run that does not exist cannot be continued', async () => {
    const { visit } = await open();
    const body = { request: { argv: ['true'], continues: `run_${'0'.repeat(20)}` } };
    const refused = await visit.ask('POST', '/v1/runs', { body });
    expect([refused.status, refused.json<{ code: string }>().code]).toEqual([422, 'TASK_REFUSED']);
    expect(refused.text).toContain('to continue');
  });
});
