/** What commands and roles report of residents is true: each test is of a report that once misled a person. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ResidentView, ThreadView, WorkflowView } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { command, createAgents, detach, untilFile, untilAt } from '../faults/scripted-agents.ts';
import { serve } from '../faults/killed-daemons.ts';
import { until } from './project.ts';
import {
  readJson,
  senseOf,
  serveResidents,
  startThread,
  untilEnded,
  untilThreadIs,
  workflowOf,
  type ResidentProject,
} from './resident-project.ts';

const LIMIT_MS = 120_000;
const FLOW = 'workflows: { flow: { file: flow.ts } }';

const serveFlow = (body: string, settings = ''): Promise<ResidentProject> =>
  serveResidents([`workflows: { flow: { file: flow.ts${settings} } }`], {
    'flow.ts': workflowOf({ one: body }),
  });

const isAsking = ({ waitsFor = [] }: { waitsFor?: readonly { kind: string }[] | undefined }): boolean =>
  waitsFor.some(({ kind }) => kind === 'ask');

describe('a role', { timeout: LIMIT_MS }, () => {
  it('gets the size of the work of a run that was cancelled, and 0 of one that changed nothing', async () => {
    const residents = await serveFlow(`
      const run = (script) => ({ task: 'x', runtime: 'command', argv: ['sh', '-c', script] });
      const [changed, idle] = [await start(run('echo work > made.txt; sleep 600')), await start(run('sleep 600'))];
      const ended = await wait([changed, idle]);
      return ended.map(({ status, patchBytes }) => ({ status, patchBytes }));`);
    const { project, ledger } = residents;
    const threadId = await startThread(project, 'flow');
    const { waitsFor: [step] = [] } = await untilThreadIs(residents, threadId, ({ waitsFor = [] }) =>
      waitsFor.some(({ kind }) => kind === 'wait'),
    );
    const [changed = '', idle = ''] = step?.runIds ?? [];
    const made = join(project.root, `.caisson/worktrees/${changed}.1/files/made.txt`);
    await until('it has made its file', () => existsSync(made), 30_000);
    const isStarted = () => ledger.read({ runId: idle, types: ['dispatch.started'] }).length === 1;
    await until('the other one is started', isStarted, 30_000);
    await project.caisson('cancel', changed);
    await project.caisson('cancel', idle);
    const { messages } = await untilEnded(residents, threadId);
    const { bytes } = await readJson<{ bytes: number }>(project, 'diff', changed);
    expect(bytes).toBeGreaterThan(0);
    expect(messages.map(({ content }) => content)).toEqual([
      [
        { status: 'cancelled', patchBytes: bytes },
        { status: 'cancelled', patchBytes: 0 },
      ],
    ]);
  });
});

describe('a workflow whose file is missing', { timeout: LIMIT_MS }, () => {
  it('is named with the reason before its first thread, and by a thread that waits for it', async () => {
    const residents = await serveResidents([FLOW], { 'notes.txt': 'x' });
    const { project } = residents;
    const why = expect.stringContaining('there is no file flow.ts') as string;
    expect(await readJson<WorkflowView[]>(project, 'workflows', 'list')).toMatchObject([{ problem: why }]);
    expect(await readJson<ResidentView[]>(project, 'residents', 'list')).toMatchObject([
      { problems: { flow: why } },
    ]);
    const threadId = await startThread(project, 'flow');
    const shown = await until('it is held', async () => {
      const thread = await readJson<ThreadView>(project, 'threads', 'show', threadId);
      return thread.heldBy === undefined ? null : thread;
    });
    expect([shown.status, shown.heldBy]).toEqual(['running', expect.stringContaining('flow.ts')]);
    expect((await project.caisson('threads', 'show', threadId)).stdout).toMatch(/waits +.*flow\.ts/);
    expect((await project.caisson('threads', 'list')).stdout).toMatch(/waits: .*flow\.ts/);
    expect((await project.caisson('status')).stdout).toContain('1 running (1 of them held');
    project.write('flow.ts', workflowOf({ one: `return 'it came';` }));
    const ended = await untilEnded(residents, threadId);
    expect([ended.status, ended.heldBy]).toEqual(['done', undefined]);
  });
});

it(
  'a broken file of a sense whose old version is at work shows in status',
  { timeout: LIMIT_MS },
  async () => {
    const { project } = await serveResidents(
      ['senses: { look: { file: look.ts, on: [{ signal: never }] } }'],
      {
        'look.ts': senseOf(''),
      },
    );
    expect((await project.caisson('senses', 'trigger', 'look')).code).toBe(0);
    expect((await project.caisson('status')).stdout).not.toContain('does not load');
    project.write('look.ts', 'this is no code');
    const look = async () => (await readJson<ResidentView[]>(project, 'residents', 'list'))[0]?.problems;
    await until('the new version is refused', look, 30_000);
    expect((await project.caisson('status')).stdout).toMatch(/senses\.look.*does not load/);
  },
);

it('a question that was answered without a daemon is shown as answered', { timeout: LIMIT_MS }, async () => {
  const residents = await serveFlow(`return await ask('really?');`);
  const { project } = residents;
  const threadId = await startThread(project, 'flow');
  await untilThreadIs(residents, threadId, isAsking);
  expect((await project.caisson('down', '--now')).code).toBe(0);
  expect((await project.caisson('answer', threadId, 'yes')).code).toBe(0);
  for (const words of [['show', threadId], ['list']])
    expect((await project.caisson('threads', ...words)).stdout).toContain(
      'answered; goes on with the next daemon',
    );
  await serve(project);
  expect((await untilEnded(residents, threadId)).messages).toMatchObject([{ content: 'yes' }]);
});

it('a run that was cancelled in the queue has no unknown cost', { timeout: LIMIT_MS }, async () => {
  const agents = await createAgents([{ turns: [command(untilFile('go')), { say: 'done' }] }], {
    more: 'limits: { concurrency: 1 }',
  });
  const { project } = agents;
  await serve(project);
  const first = await detach(agents, 'wait for it');
  await untilAt(agents, first, 'go');
  const queued = await detach(agents, 'never begins');
  expect((await project.caisson('cancel', queued)).code).toBe(0);
  const { standings } = await readJson<{ standings: { unknownCosts: number }[] }>(project, 'budget');
  expect(standings).toMatchObject([{ unknownCosts: 0 }]);
});

describe('what a command says', { timeout: LIMIT_MS }, () => {
  it('of a question of a thread has the id of the thread under its own name', async () => {
    const residents = await serveFlow(`return await ask('really?');`);
    const threadId = await startThread(residents.project, 'flow');
    await untilThreadIs(residents, threadId, isAsking);
    expect(await readJson(residents.project, 'questions')).toMatchObject([{ runId: threadId, threadId }]);
  });

  it('of a role that ends its process names the role', async () => {
    const residents = await serveFlow(`process.exit(3);`);
    const threadId = await startThread(residents.project, 'flow');
    expect((await untilEnded(residents, threadId)).detail).toContain('one exited');
  });

  it('of a run whose mode is narrower than its role asked for names the mode that it has', async () => {
    const residents = await serveFlow(
      `return (await dispatch({ runtime: 'command', argv: ['true'], mode: 'full-auto' })).mode;`,
    );
    const threadId = await startThread(residents.project, 'flow');
    expect(await untilEnded(residents, threadId)).toMatchObject({ messages: [{ content: 'auto-edit' }] });
  });

  it('of a workflow without room names what can be done', async () => {
    const residents = await serveFlow(`return await ask('go on?');`, ', overflow: reject');
    const { project } = residents;
    await untilThreadIs(residents, await startThread(project, 'flow'), isAsking);
    const refused = await project.caisson('workflows', 'trigger', 'flow');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('caisson threads list --workflow flow'),
    ]);
  });

  it('of a workflow and its logs is served by workflows logs', async () => {
    const residents = await serveFlow(`log('it says this'); return 1;`);
    await untilEnded(residents, await startThread(residents.project, 'flow'));
    expect((await residents.project.caisson('workflows', 'logs', 'flow')).stdout).toContain('it says this');
  });

  it('of a resident that was reset is nothing of the crashes before', async () => {
    const config = ['senses: { bad: { file: bad.ts, on: [{ signal: never }], crashLimit: 1 } }'];
    const body = `process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});`;
    const { project } = await serveResidents(config, { 'bad.ts': senseOf(body) });
    await project.caisson('senses', 'trigger', 'bad');
    const listed = async (): Promise<string> => (await project.caisson('residents', 'list')).stdout;
    await until('it is blocked', async () => (await listed()).includes('blocked'), 30_000);
    expect(await listed()).toContain('SIGKILL');
    expect((await project.caisson('residents', 'reset', 'bad')).code).toBe(0);
    expect(await listed()).not.toContain('SIGKILL');
  });

  it('of the newest thread where there is none is that there is none', async () => {
    const { project } = await serveResidents([], { 'notes.txt': 'x' });
    const { code, stderr } = await project.caisson('threads', 'show', 'latest');
    expect([code, stderr]).toEqual([1, expect.stringContaining('there is no thread yet')]);
  });
});
