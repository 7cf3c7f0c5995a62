/** Senses and workflows with the built program: a red build becomes one thread with one run, whatever is killed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { descendants } from '@caisson/ground';
import type { SenseView, ThreadRow, ThreadView } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { isGone, killDaemon, openedLedger, serve } from '../faults/killed-daemons.ts';
import { command, createAgents, letGo, untilAt, untilFile, type Agents } from '../faults/scripted-agents.ts';
import { until, type Project } from './project.ts';
import { readJson, untilResident } from './resident-project.ts';

const LIMIT_MS = 180_000;

const SENSE = `
import { readFileSync } from 'node:fs';
import { defineSense } from 'caisson';

interface Signals extends Record<string, unknown> { red: { failed: number } }

export default defineSense<Signals>({
  compute({ state, emit, projectRoot }) {
    const { failed } = JSON.parse(readFileSync(projectRoot + '/results.json', 'utf8')) as { failed: number };
    if (failed > 0 && state.get('failed') !== failed) emit('red', { failed });
    state.set('failed', failed);
  },
});
`;

const WORKFLOW = `
import { defineWorkflow } from 'caisson';

export default defineWorkflow<{ failed: number }>({
  roles: {
    async fix({ dispatch, payload }) {
      const run = await dispatch({ task: 'fix ' + payload.failed + ' tests', agent: 'worker' });
      return { runId: run.runId, status: run.status };
    },
    report({ messages, log }) {
      log('the run is', (messages.at(-1)?.content as { status: string }).status);
      return 'reported';
    },
  },
  route: ({ messages }) => ['fix', 'report'][messages.length] ?? null,
});
`;

const CONFIG = [
  'senses: { tests: { file: senses/tests.ts, interval: 1s } }',
  'workflows: { fix-build: { file: workflows/fix-build.ts, on: [red] } }',
].join('\n');

/** An agent that works until it may finish, and a project whose tests are green. */
async function createStage(): Promise<Agents> {
  const agents = await createAgents([{ ...command(untilFile('go')) }, { say: 'Fixed.' }], { more: CONFIG });
  agents.project.write('senses/tests.ts', SENSE);
  agents.project.write('workflows/fix-build.ts', WORKFLOW);
  agents.project.write('results.json', '{"failed":0}');
  agents.project.git('add', '-A');
  agents.project.git('commit', '-qm', 'residents');
  return agents;
}

const turnRed = ({ root }: Project): void =>
  writeFileSync(join(root, 'results.json'), JSON.stringify({ failed: 2 }));

const list = <T>(project: Project, ...words: string[]): Promise<T[]> => readJson<T[]>(project, ...words);

async function untilThread(project: Project, ...statuses: string[]): Promise<ThreadRow> {
  let found: ThreadRow | undefined;
  const isThere = async (): Promise<boolean> => {
    [found] = await list<ThreadRow>(project, 'threads', 'list');
    return found !== undefined && statuses.includes(found.status);
  };
  await until(`a thread is ${statuses.join(' or ')}`, isThere, 60_000);
  if (found === undefined) throw new Error('there is no thread');
  return found;
}

/** The run that the thread waits for. */
async function untilDispatched(project: Project): Promise<string> {
  let runId: string | undefined;
  const isThere = async (): Promise<boolean> => {
    const [thread] = await list<ThreadRow>(project, 'threads', 'list');
    runId = thread?.waitsFor?.flatMap(({ runIds = [] }) => runIds)[0];
    return runId !== undefined;
  };
  await until('the thread waits for its run', isThere, 60_000);
  return runId ?? '';
}

/** One signal, one thread, one run, one ending each, and the messages of both roles. */
async function expectOnce({ project, model }: Agents): Promise<ThreadView> {
  const row = await untilThread(project, 'done', 'failed', 'crashed', 'timeout', 'cancelled');
  const thread = await readJson<ThreadView>(project, 'threads', 'show', row.threadId);
  expect([thread.status, thread.detail]).toEqual(['done', undefined]);
  expect(thread.messages.map(({ role }) => role)).toEqual(['fix', 'report']);
  expect(thread.messages[0]?.content).toMatchObject({ status: 'done', runId: thread.runs[0] });
  const ledger = openedLedger(join(project.root, '.caisson'));
  const countOf = (type: 'signal.emitted' | 'thread.accepted' | 'thread.ended' | 'dispatch.accepted') =>
    ledger.read({ types: [type] }).length;
  expect([countOf('signal.emitted'), countOf('thread.accepted'), countOf('thread.ended')]).toEqual([1, 1, 1]);
  expect(countOf('dispatch.accepted')).toBe(1);
  expect(ledger.run(thread.runs[0] ?? '')?.status).toBe('done');
  expect(model.modelRequests()).toHaveLength(2);
  return thread;
}

async function residentPid(project: Project, key: string): Promise<number> {
  return (await untilResident(project, key)).pid ?? 0;
}

describe('a sense that sees a red build', { timeout: LIMIT_MS }, () => {
  it('starts one thread with one run, and the thread ends', async () => {
    const agents = await createStage();
    const { project } = agents;
    await serve(project);
    await until('the sense computes', async () => {
      const [sense] = await list<SenseView>(project, 'senses', 'list');
      return (sense?.computes ?? 0) >= 2;
    });
    expect(await list(project, 'threads', 'list')).toEqual([]);
    turnRed(project);
    const runId = await untilDispatched(project);
    await untilAt(agents, runId, 'go');
    letGo(agents, runId, 'go');
    await expectOnce(agents);
    const worker = await residentPid(project, 'senses.tests');
    const all = [worker, ...descendants(worker).map(({ pid }) => pid)];
    expect(all.length).toBeGreaterThan(2); // bubblewrap and the guest
    expect((await project.caisson('down', '--now')).code).toBe(0);
    expect(all.filter((pid) => !isGone(pid))).toEqual([]);
  });

  it('costs time alone when the worker of the sense is killed', async () => {
    const agents = await createStage();
    const { project } = agents;
    await serve(project);
    process.kill(await residentPid(project, 'senses.tests'), 'SIGKILL');
    turnRed(project);
    const runId = await untilDispatched(project);
    process.kill(await residentPid(project, 'senses.tests'), 'SIGKILL');
    await untilAt(agents, runId, 'go');
    letGo(agents, runId, 'go');
    await expectOnce(agents);
  });

  it('costs time alone when the worker of the workflow is killed', async () => {
    const agents = await createStage();
    const { project } = agents;
    await serve(project);
    turnRed(project);
    const runId = await untilDispatched(project);
    process.kill(await residentPid(project, 'workflow.fix-build'), 'SIGKILL');
    await untilAt(agents, runId, 'go');
    letGo(agents, runId, 'go');
    await expectOnce(agents);
  });

  it('costs time alone when the daemon is killed: its residents end, its agent goes on, the next one continues', async () => {
    const agents = await createStage();
    const { project } = agents;
    const killed = await serve(project);
    turnRed(project);
    const runId = await untilDispatched(project);
    await untilAt(agents, runId, 'go');
    const worker = await residentPid(project, 'senses.tests');
    await killDaemon(killed);
    await until('its residents are gone', () => isGone(worker));
    await serve(project);
    letGo(agents, runId, 'go');
    await expectOnce(agents);
  });
});
