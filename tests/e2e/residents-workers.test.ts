/** Workers of residents with the built program: reloaded, blocked, drained, restarted, triggered and followed. */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { definedOnly, type ComputeView, type SenseView } from '@caisson/protocol';
import { createCaisson } from 'caisson';
import { describe, expect, it, onTestFinished } from 'vitest';
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

/** Looks for its daemon. */
const CONNECTS = `
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
${senseOf(`
  const socket = connect(projectRoot + '/.caisson/runtime/daemon.sock');
  const daemon = await once(socket, 'connect').then(() => 'connected', (error) => error.code);
  emit('found', { state: readdirSync(projectRoot + '/.caisson'), daemon });`)}`;

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
    expect((await project.caisson('senses', 'trigger', 'counts')).stderr).toContain(
      'the old version computed',
    );
    expect((await project.caisson('senses', 'list')).stdout).toMatch(/^counts .*Error/m);
    const log = readFileSync(join(project.root, '.caisson/runtime/daemon.log'), 'utf8');
    expect(log).toMatch(/^\S+Z warning: residents: the old version of senses\.counts goes on/m);
    project.write('counts.ts', counts(2));
    await untilResident(project, 'senses.counts', ({ pid = broken.pid }) => pid !== broken.pid);
    expect(payloadOf(await trigger(project))).toEqual({ n: 4, version: 2 });
  });

  it('changes what is declared after caisson reload, and leaves the worker of the others alone', async () => {
    const { project } = await serveCounts();
    await trigger(project);
    const { pid } = await untilResident(project, 'senses.counts');
    project.write('second.ts', CONNECTS);
    project.write(
      'caisson.yaml',
      'senses:\n  counts: { file: counts.ts, on: [{ signal: never }] }\n  second: { file: second.ts, interval: 1h }\n',
    );
    expect(await readJson(project, 'reload')).toMatchObject({ residents: ['senses.second'] });
    const daemon = join(project.root, '.caisson/runtime/daemon.sock');
    expect(statSync(daemon).isSocket()).toBe(true);
    expect(payloadOf(await trigger(project, 'second'))).toEqual({ state: [], daemon: 'ENOENT' });
    expect((await untilResident(project, 'senses.counts')).pid).toBe(pid);
    const names = (await readJson<SenseView[]>(project, 'senses', 'list')).map(({ name }) => name);
    expect(names).toEqual(['counts', 'second']);
  });
});

it(
  'a workflow that is saved again and again while its threads work loses none and doubles none',
  { timeout: LIMIT_MS },
  async () => {
    const work = `await new Promise((resolve) => setTimeout(resolve, 60)); return await step('work', () => payload);`;
    const flow = (version: number): string =>
      workflowOf({ one: work, two: work, three: `return ${version};` });
    const { project, ledger } = await serveResidents(
      ['workflows: { flow: { file: flow.ts, concurrency: 4 } }'],
      { 'flow.ts': flow(1) },
      definedOnly(process.env), // the same user as here
    );
    const caisson = await createCaisson({ cwd: project.root, daemon: true });
    onTestFinished(() => caisson.close());
    const isOver = ({ endedAt }: { endedAt?: string | undefined }): boolean => endedAt !== undefined;
    const reports = (): unknown[] =>
      ledger
        .read({ types: ['thread.message'] })
        .flatMap(({ data }) => (data.round === 2 ? [data.content] : []));
    let started = 0;
    const startUntilSeen = async (version: number): Promise<boolean> => {
      const living = ledger.threads({ status: ['queued', 'running', 'waiting'] });
      if (living.length < 4) await caisson.residents.startThread('flow', (started += 1));
      return reports().includes(version);
    };
    for (let version = 1; version <= 5; version += 1) {
      project.write('flow.ts', flow(version));
      await until(`a thread has ended with version ${version}`, () => startUntilSeen(version), 30_000);
    }
    await until('every thread has ended', () => ledger.threads({}).every(isOver), 30_000);
    const threads = ledger.threads({});
    expect(threads.map(({ status, rounds }) => [status, rounds])).toEqual(Array(started).fill(['done', 3]));
    for (const { threadId } of threads) {
      const types = ledger.read({ runId: threadId }).map(({ type }) => type);
      const count = (wanted: string): number => types.filter((type) => type === wanted).length;
      expect(
        ['thread.message', 'thread.step-started', 'thread.step-ended', 'thread.ended'].map(count),
      ).toEqual([3, 2, 2, 1]);
    }
    expect((await untilResident(project, 'workflow.flow', () => true)).crashes).toBe(0);
  },
);

describe('a worker', { timeout: LIMIT_MS }, () => {
  it('that crashes in a loop is blocked, also for the next daemon, until it is reset', async () => {
    const { project, ledger } = await serveResidents(['senses: { bad: { file: bad.ts, interval: 1s } }'], {
      'bad.ts': senseOf(
        `console.error('its last words'); process.kill(process.pid, 'SIGKILL'); await new Promise(() => {});`,
      ),
    });
    const isBlocked = ({ state }: { state: string }): boolean => state === 'blocked';
    const blocked = await untilResident(project, 'senses.bad', isBlocked);
    expect([blocked.pid, blocked.crashes]).toEqual([undefined, 5]);
    const readBlocks = () => ledger.read({ types: ['resident.blocked'] }).map(({ data }) => data);
    await until('it is in the ledger', () => readBlocks()[0]);
    expect(readBlocks()).toMatchObject([{ key: 'senses.bad', crashes: 5, windowMs: 60_000 }]);
    expect((await project.caisson('residents', 'list')).stdout).toMatch(
      /senses\.bad ended \d+ s ago; its stderr:\n {2}its last words\n/,
    );
    const refused = await project.caisson('senses', 'trigger', 'bad');
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('blocked')]);
    expect((await project.caisson('down')).code).toBe(0);
    project.write('bad.ts', senseOf(`emit('well');`));
    const remedy = 'So that it works again: caisson residents reset senses.bad';
    for (const words of [['up', '-d'], ['status']])
      expect((await project.caisson(...words)).stdout).toContain(remedy);
    expect(readFileSync(join(project.root, '.caisson/runtime/daemon.log'), 'utf8')).toContain(remedy);
    await untilResident(project, 'senses.bad', isBlocked);
    const reset = await project.caisson('residents', 'reset', 'bad');
    expect([reset.code, reset.stdout]).toEqual([0, 'senses.bad may work again\n']);
    const idle = await readJson(project, 'residents', 'reset', 'bad');
    expect(idle).toEqual({ resident: 'senses.bad', outcome: 'reset' });
    expect((await trigger(project, 'bad')).signals).toEqual([{ name: 'well', payload: null }]);
    expect(ledger.read({ types: ['resident.reset'] })).toHaveLength(1);
    expect((await project.caisson('down', '--now')).code).toBe(0);
  });

  it('whose group has filled its disk says what to do, and a reset helps once its files are removed', async () => {
    const { project } = await serveResidents(
      ['senses: { fills: { file: fills.ts, on: [{ signal: never }], disk: 4m, crashLimit: 1 } }'],
      {
        'fills.ts': `import { writeFileSync } from 'node:fs';
          ${senseOf(`for (let n = 0; n < 64; n += 1) {
            writeFileSync(process.env.CAISSON_STATE + '/' + n, Buffer.alloc(1024 ** 2));
            await new Promise((resolve) => setTimeout(resolve, 50));
          }`)}`,
      },
    );
    const refused = await project.caisson('senses', 'trigger', 'fills');
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('the limit is 4194304')]);
    await untilResident(project, 'senses.fills', ({ state }) => state === 'blocked');
    const { stdout } = await project.caisson('residents', 'list');
    expect(stdout).toContain('caisson residents reset senses.fills');
    project.write(
      'fills.ts',
      senseOf(`const n = (state.get('n') ?? 0) + 1; state.set('n', n); emit('n', n);`),
    );
    for (const words of [['reload'], ['residents', 'reset', 'senses.fills']])
      expect((await project.caisson(...words)).code).toBe(0);
    const again = await project.caisson('senses', 'trigger', 'fills');
    expect([again.code, again.stdout]).toEqual([1, expect.stringContaining('the limit is 4194304')]);
    await untilResident(project, 'senses.fills', ({ state }) => state === 'blocked');
    const state = join(project.root, '.caisson/residents/senses.fills/state');
    for (const name of readdirSync(state).filter((each) => /^\d+$/.test(each))) rmSync(join(state, name));
    expect((await project.caisson('residents', 'reset', 'senses.fills')).code).toBe(0);
    for (const n of [1, 2]) expect(payloadOf(await trigger(project, 'fills'))).toBe(n);
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
  'senses logs -f and logs --all -f print what residents log, and the latter also what they do',
  { timeout: LIMIT_MS },
  async () => {
    const { project } = await serveResidents(
      [
        'senses: { counts: { file: counts.ts, on: [{ signal: never }] } }',
        'workflows: { flow: { file: flow.ts } }',
      ],
      { 'counts.ts': counts(1), 'flow.ts': workflowOf({ one: `log('says', payload); return payload;` }) },
    );
    await trigger(project);
    const follower = project.start('senses', 'logs', 'counts', '-f');
    let text = '';
    follower.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    const everything = project.start('logs', '--all', '-f');
    let all = '';
    everything.stdout?.on('data', (chunk: Buffer) => (all += chunk.toString('utf8')));
    await until('what was logged', () => text.includes('compute 1 of version 1'));
    await until('the project is followed', async () => {
      await startThread(project, 'flow', 'hello');
      return all.includes('flow · by user · "hello"');
    });
    await trigger(project);
    await until('what is logged now', () => text.includes('compute 2 of version 1'));
    for (const line of [
      /counts: compute 2 of version 1/,
      /counts · by user · .*counted/,
      /flow: says hello/,
      /round 0 · one · "hello"/,
    ])
      await until(`a line like ${line}`, () => line.test(all));
    follower.kill('SIGINT');
    const closed = await new Promise((resolve) => follower.once('close', (...how) => resolve(how)));
    expect(closed).toEqual([null, 'SIGINT']);
    const { stdout } = await project.caisson('senses', 'logs', 'counts');
    expect(stdout.split('\n').filter((line) => line.includes('compute '))).toHaveLength(2);
  },
);
