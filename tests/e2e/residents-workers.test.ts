/** Workers of residents with the built program: reloaded, blocked, drained, restarted, triggered and followed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ComputeView, SenseView } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { isGone } from '../faults/killed-daemons.ts';
import { until, type Project } from './project.ts';
import {
  readJson,
  senseOf,
  serveResidents,
  startThread,
  untilEnded,
  untilResident,
  untilThreadIs,
  workflowOf,
} from './resident-project.ts';

const LIMIT_MS = 120_000;

const counts = (version: number): string =>
  senseOf(`
    const n = (state.get('n') ?? 0) + 1;
    state.set('n', n);
    log('compute', n, 'of version ${version}');
    emit('counted', { n, version: ${version} });
  `);

/** A sense that computes only when it is asked. */
const serveCounts = () =>
  serveResidents(['senses: { counts: { file: counts.ts, on: [{ signal: never }] } }'], {
    'counts.ts': counts(1),
  });

const trigger = (project: Project, sense = 'counts'): Promise<ComputeView> =>
  readJson<ComputeView>(project, 'senses', 'trigger', sense);

const payloadOf = ({ signals }: ComputeView): unknown => signals[0]?.payload;

describe('a file that is saved', { timeout: LIMIT_MS }, () => {
  it('takes over by itself, keeps the state, and leaves the old version at work while it is broken', async () => {
    const { project } = await serveCounts();
    expect(payloadOf(await trigger(project))).toEqual({ n: 1, version: 1 });
    project.write('counts.ts', 'this is no TypeScript');
    const broken = await untilResident(project, 'senses.counts', ({ problems }) => problems !== undefined);
    expect([broken.state, broken.problems]).toEqual(['ready', { counts: expect.any(String) as string }]);
    expect(payloadOf(await trigger(project))).toEqual({ n: 2, version: 1 });
    const log = readFileSync(join(project.root, '.caisson/runtime/daemon.log'), 'utf8');
    expect(log).toContain('warning: residents: the old version of senses.counts goes on');
    project.write('counts.ts', counts(2));
    await untilResident(project, 'senses.counts', ({ pid = broken.pid }) => pid !== broken.pid);
    expect(payloadOf(await trigger(project))).toEqual({ n: 3, version: 2 });
  });

  it('changes what is declared after caisson reload, and leaves the worker of the others alone', async () => {
    const { project } = await serveCounts();
    await trigger(project);
    const { pid } = await untilResident(project, 'senses.counts');
    project.write('second.ts', senseOf(`emit('hello', projectRoot.length > 0);`));
    project.write(
      'caisson.yaml',
      'senses:\n  counts: { file: counts.ts, on: [{ signal: never }] }\n  second: { file: second.ts, interval: 1h }\n',
    );
    expect(await readJson(project, 'reload')).toMatchObject({ residents: ['senses.second'] });
    expect(payloadOf(await trigger(project, 'second'))).toBe(true);
    expect((await untilResident(project, 'senses.counts')).pid).toBe(pid);
    const names = (await readJson<SenseView[]>(project, 'senses', 'list')).map(({ name }) => name);
    expect(names).toEqual(['counts', 'second']);
  });
});

describe('a worker', { timeout: LIMIT_MS }, () => {
  it('that crashes in a loop is blocked, also for the next daemon, until it is reset', async () => {
    const { project, ledger } = await serveResidents(['senses: { bad: { file: bad.ts, interval: 1s } }'], {
      'bad.ts': senseOf(`process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});`),
    });
    const isBlocked = ({ state }: { state: string }): boolean => state === 'blocked';
    const blocked = await untilResident(project, 'senses.bad', isBlocked);
    expect([blocked.pid, blocked.crashes]).toEqual([undefined, 5]);
    const readBlocks = () => ledger.read({ types: ['resident.blocked'] }).map(({ data }) => data);
    await until('it is in the ledger', () => readBlocks()[0]);
    expect(readBlocks()).toMatchObject([{ key: 'senses.bad', crashes: 5, windowMs: 60_000 }]);
    const refused = await project.caisson('senses', 'trigger', 'bad');
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('blocked')]);
    expect((await project.caisson('down')).code).toBe(0);
    project.write('bad.ts', senseOf(`emit('well');`));
    await project.caisson('up', '-d');
    await untilResident(project, 'senses.bad', isBlocked);
    const reset = await project.caisson('residents', 'reset', 'bad');
    expect([reset.code, reset.stdout]).toEqual([0, 'bad may work again\n']);
    expect((await trigger(project, 'bad')).signals).toEqual([{ name: 'well', payload: null }]);
    expect(ledger.read({ types: ['resident.reset'] })).toHaveLength(1);
    expect((await project.caisson('down', '--now')).code).toBe(0);
  });

  it('that is drained or restarted is another one afterwards, and its state stays', async () => {
    const { project } = await serveCounts();
    await trigger(project);
    let last = (await untilResident(project, 'senses.counts')).pid ?? 0;
    for (const [index, verb] of ['drain', 'restart'].entries()) {
      expect((await project.caisson('residents', verb, 'senses.counts')).code).toBe(0);
      await until(`the worker is gone after ${verb}`, () => isGone(last));
      expect(payloadOf(await trigger(project))).toEqual({ n: index + 2, version: 1 });
      const { pid = 0, crashes } = await untilResident(project, 'senses.counts');
      expect([pid === last, crashes]).toEqual([false, 0]);
      last = pid;
    }
  });

  it('of a workflow that is restarted costs its thread nothing: recorded steps are not repeated', async () => {
    const residents = await serveResidents(['workflows: { flow: { file: flow.ts } }'], {
      'flow.ts': workflowOf({
        one: `const at = await step('time', () => Date.now()); return [at, await ask('go on?')];`,
      }),
    });
    const { project, ledger } = residents;
    const threadId = await startThread(project, 'flow');
    await untilThreadIs(residents, threadId, ({ waitsFor = [] }) =>
      waitsFor.some(({ kind }) => kind === 'ask'),
    );
    const { pid = 0 } = await untilResident(project, 'workflow.flow');
    expect((await project.caisson('residents', 'restart', 'flow')).code).toBe(0);
    await until('the worker is gone', () => isGone(pid));
    expect((await project.caisson('answer', threadId, 'yes')).code).toBe(0);
    const thread = await untilEnded(residents, threadId);
    const [value] = ledger.read({ runId: threadId, types: ['thread.step-ended'] });
    expect(thread).toMatchObject({ status: 'done', messages: [{ content: [value?.data.value, 'yes'] }] });
    expect(ledger.read({ runId: threadId, types: ['thread.step-started'] })).toHaveLength(2);
  });
});

it(
  'senses logs -f prints what was logged and what is logged from then on',
  { timeout: LIMIT_MS },
  async () => {
    const { project } = await serveCounts();
    await trigger(project);
    const follower = project.start('senses', 'logs', 'counts', '-f');
    let text = '';
    follower.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    await until('what was logged', () => text.includes('compute 1 of version 1'));
    await trigger(project);
    await until('what is logged now', () => text.includes('compute 2 of version 1'));
    follower.kill('SIGINT');
    const closed = await new Promise((resolve) => follower.once('close', (...how) => resolve(how)));
    expect(closed).toEqual([null, 'SIGINT']);
    const { stdout } = await project.caisson('senses', 'logs', 'counts');
    expect(stdout.split('\n').filter((line) => line.includes('compute '))).toHaveLength(2);
  },
);
