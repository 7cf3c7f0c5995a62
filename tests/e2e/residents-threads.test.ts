/** Threads with the built program and a daemon: what they wait for, how they end, and who has no room. */
import { systemClock } from '@caisson/ground';
import type { ScheduleView, ThreadRow } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { chooseThreadId } from '../../packages/engine/src/residents/accept-thread.ts';
import { isGone, serve } from '../faults/killed-daemons.ts';
import { until } from './project.ts';
import {
  readJson,
  serveResidents,
  startThread,
  untilEnded,
  untilResident,
  untilThreadIs,
  workflowOf,
  type ResidentProject,
} from './resident-project.ts';
import { openVisit } from './visit.ts';

const LIMIT_MS = 120_000;

/** One workflow, `flow`, with these roles. */
const serveFlow = (roles: Readonly<Record<string, string>>, settings = ''): Promise<ResidentProject> =>
  serveResidents([`workflows: { flow: { file: flow.ts${settings} } }`], { 'flow.ts': workflowOf(roles) });

const waitsFor =
  (wanted: string) =>
  ({ waitsFor: steps = [] }: { waitsFor?: readonly { kind: string }[] | undefined }): boolean =>
    steps.some(({ kind }) => kind === wanted);

const contentsOf = ({ messages }: { readonly messages: readonly { readonly content: unknown }[] }) =>
  messages.map(({ content }) => content);

describe('a thread', { timeout: LIMIT_MS }, () => {
  it('that asks is answered by caisson answer, and its question is closed', async () => {
    const residents = await serveFlow({
      decide: `return await ask('ship ' + payload.what + '?', { options: ['yes', 'no'] });`,
      report: `return 'the answer is ' + messages.at(-1).content;`,
    });
    const { project } = residents;
    const threadId = await startThread(project, 'flow', { what: 'it' });
    await untilThreadIs(residents, threadId, waitsFor('ask'));
    expect(await readJson(project, 'questions')).toMatchObject([{ text: 'ship it?', runId: threadId }]);
    const answered = await project.caisson('answer', threadId, 'yes');
    expect([answered.code, answered.stdout]).toEqual([0, `answered: ${threadId} goes on\n`]);
    const thread = await untilEnded(residents, threadId);
    expect([thread.status, contentsOf(thread)]).toEqual(['done', ['yes', 'the answer is yes']]);
    expect((await project.caisson('answer', threadId, 'no')).code).not.toBe(0);
  });

  it('of a token has a key of that token, and takes none of a schedule, a signal or another token', async () => {
    const residents = await serveFlow({ report: `return 'done';` });
    const visit = await openVisit(residents.project);
    const start = async (token: string): Promise<string> => {
      const body = { idempotencyKey: 'schedule:nightly' };
      return (await visit.ask('POST', '/v1/workflows/flow/threads', { token, body })).json<ThreadRow>()
        .threadId;
    };
    const [one, other] = [await visit.createToken('run'), await visit.createToken('run')];
    const first = await start(one);
    expect(first).toMatch(/^thr/);
    expect(await start(one)).toBe(first);
    expect(await start(other)).not.toBe(first);
    const trigger = { kind: 'schedule', schedule: 'nightly', slot: '' } as const;
    const scheduled = {
      workflow: 'flow',
      trigger,
      payload: null,
      causes: [],
      idempotencyKey: 'schedule:nightly',
    };
    const ofSchedule = chooseThreadId({ clock: systemClock }, scheduled);
    expect(ofSchedule).toMatch(/^thr/);
    for (const token of [one, other, visit.token]) expect(await start(token)).not.toBe(ofSchedule);
  });

  it('that sleeps loses its worker, and wakes in another one without repeating its steps', async () => {
    const residents = await serveFlow({
      nap: `const before = await step('once', () => Date.now()); await sleep(14_000); return { before, after: Date.now() };`,
    });
    const { project, ledger } = residents;
    const threadId = await startThread(project, 'flow');
    const { pid = 0 } = await untilResident(project, 'workflow.flow');
    await untilThreadIs(residents, threadId, waitsFor('sleep'));
    await until('its worker is gone', () => isGone(pid), 30_000);
    expect(ledger.thread(threadId)).toMatchObject({ status: 'waiting' });
    await untilResident(project, 'workflow.flow', ({ state, pid: other }) => state === 'idle' && !other);
    const thread = await untilEnded(residents, threadId);
    const [{ before, after }] = contentsOf(thread) as [{ before: number; after: number }];
    expect([thread.status, after - before >= 14_000]).toEqual(['done', true]);
    const steps = ledger.read({ runId: threadId, types: ['thread.step-started'] });
    expect(steps.map(({ data }) => data.kind)).toEqual(['value', 'sleep']);
  });

  it('that waits for several runs gets all of their endings, in its order', async () => {
    const run = (script: string): string =>
      `await start({ task: 'x', runtime: 'command', argv: ['sh', '-c', '${script}'] })`;
    const residents = await serveFlow({
      work: `const runs = [${run('echo one; sleep 0.5')}, ${run('exit 3')}, ${run('echo three')}];
        const ended = await wait(runs);
        return { runs, ended: ended.map(({ runId, status }) => [runId, status]) };`,
    });
    const threadId = await startThread(residents.project, 'flow');
    const thread = await untilEnded(residents, threadId);
    expect([thread.status, thread.detail, thread.runs.length]).toEqual(['done', undefined, 3]);
    const [one, two, three] = thread.runs;
    const endings = { [one ?? '']: 'done', [two ?? '']: 'error', [three ?? '']: 'done' };
    expect(contentsOf(thread)).toEqual([{ runs: thread.runs, ended: Object.entries(endings) }]);
    const sessions = thread.runs.map((runId) => residents.ledger.run(runId)?.session);
    expect(sessions).toEqual([threadId, threadId, threadId]);
    const accepted = residents.ledger.read({ runId: one ?? '', types: ['dispatch.accepted'] });
    expect(accepted.map(({ data }) => data.parent)).toEqual([threadId]);
    const shown = await residents.project.caisson('show', one ?? '');
    expect(shown.stdout).toContain(`started by: ${threadId}`);
  });

  it('whose workflow is not declared any more can be cancelled', async () => {
    const { project, ledger } = await serveFlow({ one: `return await ask('Really?');` });
    const threadId = await startThread(project, 'flow');
    await until('it asks', () => ledger.thread(threadId)?.status === 'waiting');
    await project.caisson('down', '--now');
    project.write('caisson.yaml', '');
    await serve(project);
    expect((await project.caisson('threads', 'cancel', threadId)).code).toBe(0);
    expect(ledger.thread(threadId)?.status).toBe('cancelled');
  });

  it('that is cancelled ends with the run that it waits for, once', async () => {
    const residents = await serveFlow({
      work: `return await dispatch({ task: 'x', runtime: 'command', argv: ['sleep', '600'] });`,
    });
    const { project, ledger } = residents;
    const threadId = await startThread(project, 'flow');
    const { waitsFor: [step] = [] } = await untilThreadIs(residents, threadId, waitsFor('dispatch'));
    const runId = step?.runIds?.[0] ?? '';
    await until('the run is started', () => ledger.read({ runId, types: ['dispatch.started'] }).length === 1);
    expect(await readJson(project, 'threads', 'cancel', threadId)).toEqual({ threadId, isCancelled: true });
    expect(await untilEnded(residents, threadId)).toMatchObject({ status: 'cancelled', messages: [] });
    await until('the run has ended', () => ledger.run(runId)?.ending !== undefined, 30_000);
    expect(ledger.run(runId)?.status).toBe('cancelled');
    const again = await project.caisson('threads', 'cancel', threadId);
    expect([again.code, again.stdout]).toEqual([1, `${threadId} had ended already\n`]);
    expect(ledger.read({ runId: threadId, types: ['thread.ended'] })).toHaveLength(1);
  });

  it('that failed is resumed with its messages by the corrected workflow', async () => {
    const first = `return 'first of ' + payload.name;`;
    const residents = await serveFlow({ first, second: `throw new Error('not yet');` });
    const { project } = residents;
    const failedId = await startThread(project, 'flow', { name: 'it' });
    const old = await untilResident(project, 'workflow.flow');
    expect(await untilEnded(residents, failedId)).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('not yet') as string,
      messages: [{ role: 'first' }],
    });
    project.write('flow.ts', workflowOf({ first, second: `return 'after ' + messages[0].content;` }));
    await untilResident(project, 'workflow.flow', ({ pid }) => pid !== undefined && pid !== old.pid);
    const { threadId } = await readJson<{ threadId: string }>(project, 'threads', 'resume', failedId);
    const thread = await untilEnded(residents, threadId);
    expect(thread).toMatchObject({ status: 'done', continues: failedId, payload: { name: 'it' } });
    expect(contentsOf(thread)).toEqual(['after first of it']);
  });
});

describe('a workflow without room', { timeout: LIMIT_MS }, () => {
  /** The first thread waits for an answer; what becomes of three more. */
  async function overflow(
    setting: string,
  ): Promise<{ codes: unknown[]; statuses: unknown[]; drops: unknown[] }> {
    const residents = await serveFlow({ one: `return await ask('go on?');` }, `, overflow: ${setting}`);
    const { project, ledger } = residents;
    await untilThreadIs(residents, await startThread(project, 'flow'), waitsFor('ask'));
    const codes = [];
    for (let more = 0; more < 3; more++)
      codes.push((await project.caisson('workflows', 'trigger', 'flow')).code);
    const statuses = ledger.threads({}).map(({ status }) => status);
    const drops = ledger.read({ types: ['signal.dropped'] }).map(({ data }) => [data.why, data.count]);
    return { codes, statuses, drops };
  }

  it.each([
    ['queue, maxQueue: 2', [0, 0, 1], ['waiting', 'queued', 'queued']],
    ['drop', [1, 1, 1], ['waiting']],
    ['reject', [1, 1, 1], ['waiting']],
    ['replace-oldest, maxQueue: 1', [0, 0, 0], ['waiting', 'replaced', 'replaced', 'queued']],
  ])('that says %s does so', async (setting, codes, statuses) => {
    expect(await overflow(setting)).toMatchObject({ codes, statuses });
  });
});

it(
  'a schedule starts a thread of its workflow, once for each of its times',
  { timeout: LIMIT_MS },
  async () => {
    const residents = await serveResidents(
      [
        'workflows: { flow: { file: flow.ts } }',
        'schedules: { often: { cron: "*/2 * * * * *", workflow: flow } }',
      ],
      { 'flow.ts': workflowOf({ one: `return payload;` }) },
    );
    const { ledger, project } = residents;
    const fired = () => ledger.read({ types: ['schedule.fired'] }).map(({ data }) => data);
    await until('two times came', () => fired().length >= 2, 30_000);
    const [{ startedThread = '', slot = '', problem } = {}] = fired();
    const thread = await untilEnded(residents, startedThread);
    expect(problem).toBeUndefined();
    expect(thread).toMatchObject({ status: 'done', trigger: { kind: 'schedule', schedule: 'often', slot } });
    expect(contentsOf(thread)).toEqual([null]);
    expect((await project.caisson('down', '--now')).code).toBe(0);
    const threads = fired().map((one) => one.startedThread);
    expect(ledger.threads({}).map(({ threadId }) => threadId)).toEqual(threads);
    expect(await readJson<ScheduleView[]>(project, 'schedules')).toMatchObject([
      { lastThreadId: threads.at(-1) },
    ]);
  },
);
