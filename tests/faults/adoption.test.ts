/** Agents that go on when their daemon is gone, with the built program, real processes and real kills. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DaemonStatus } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, finish, pidsWith, until, type Project } from '../e2e/project.ts';
import {
  expectGone,
  expectWhole,
  isGone,
  killDaemon,
  openedLedger,
  serve,
  show,
  typesOf,
  untilStatus,
} from './killed-daemons.ts';

const LIMIT_MS = 180_000;

interface Working {
  readonly runId: string;
  /** In the command line of the agent, and of nothing else. */
  readonly mark: string;
  /** Lets it come to its end. */
  finish(): void;
}

/** A detached run that has printed `up` and works until it may finish; then it makes a file. */
async function startWorking(project: Project, ...options: string[]): Promise<Working> {
  const mark = `mark-${process.hrtime.bigint()}`;
  const line = `: ${mark}; echo up; ${UNTIL_GO}; echo made > made.txt; echo end`;
  const { stdout, stderr } = await project.caisson('run', '--detach', ...options, '--', 'sh', '-c', line);
  const runId = stdout.trim();
  if (runId === '') throw new Error(stderr);
  const isUp = async (): Promise<boolean> =>
    (await project.caisson('logs', runId, '--stdout')).stdout.startsWith('up\n');
  await until('the agent works', isUp, 60_000);
  // It waits a moment for the ending; a host that is killed before leaves it to the next one, after `run.adopted`.
  await until('its call is recorded', async () =>
    typesOf(await project.events(runId)).includes('tool.started'),
  );
  return { runId, mark, finish: () => letGo(project, runId) };
}

const UNTIL_GO = 'until [ -e go ]; do sleep 0.1; done; rm go';

/** The agent sees its own copy of the project. */
function letGo({ root }: Project, runId: string): void {
  writeFileSync(join(root, `.caisson/worktrees/${runId}.1/files/go`), '');
}

describe('a daemon that is gone', { timeout: LIMIT_MS }, () => {
  it('is followed by the next: the same worker and agent go on, and the run ends once with every event', async () => {
    const project = createProject();
    const killed = await serve(project);
    const { runId, mark, finish } = await startWorking(project);
    const agents = pidsWith(mark);
    await killDaemon(killed);
    expect((await project.caisson('status')).stdout).toContain(`${runId} goes on for a while`);
    expect((await project.caisson('runs')).stdout).toContain('running, waits for a daemon');
    // A command that works, with a host of its own, leaves it alone, too.
    expect(await project.caisson('run', '--no-daemon', '--', 'true')).toMatchObject({ code: 0 });
    expect((await show(project, runId)).live).toMatchObject({ isAlone: true, source: 'ledger' });
    expect(pidsWith(mark)).toEqual(agents); // who reads ends nothing
    await serve(project);
    expect(pidsWith(mark)).toEqual(agents);
    await until(
      'the next one answers for it',
      async () => (await show(project, runId)).live?.source === 'host',
    );
    finish();
    await untilStatus(project, runId, 'done');
    expect(typesOf(await expectWhole(project, runId))).toEqual([
      ...['dispatch.accepted', 'attempt.launched', 'dispatch.started', 'tool.started', 'run.adopted'],
      ...['tool.ended', 'runtime.adapter.ran', 'capture.done', 'capture.done', 'dispatch.finished'],
      'evidence.sealed',
    ]);
    expect((await project.caisson('logs', runId, '--stdout')).stdout).toBe('up\nend\n');
    expect((await project.caisson('diff', runId)).stdout).toContain('+made');
    expectGone(project, mark);
  });

  it('is not missed by an agent that ends meanwhile: its work and its lines are there', async () => {
    const project = createProject();
    const killed = await serve(project);
    const { runId, mark, finish } = await startWorking(project);
    await killDaemon(killed);
    finish();
    await until('the agent has ended', () => pidsWith(mark).length === 0);
    await untilStatus(project, runId, 'done');
    const events = await expectWhole(project, runId);
    expect(typesOf(events)).not.toContain('run.adopted');
    expect((await project.caisson('diff', runId)).stdout).toContain('+made');
    expectGone(project, mark);
  });

  it('is waited for only so long: then the agent ends, the run is lost, and its work is kept', async () => {
    const project = createProject({ config: 'limits: { adoptWithin: 1s }\n' });
    const killed = await serve(project);
    const { runId, mark } = await startWorking(project);
    writeFileSync(join(project.root, `.caisson/worktrees/${runId}.1/files/begun.txt`), 'begun\n');
    await killDaemon(killed);
    await until('the agent is gone', () => pidsWith(mark).length === 0);
    // A worker that is gone waits for nobody, also before its run is settled.
    expect((await project.caisson('status')).stdout).not.toContain(runId);
    await untilStatus(project, runId, 'interrupted');
    const { failure } = await show(project, runId);
    expect([failure?.reason, failure?.detail]).toEqual([
      'lost',
      expect.stringContaining('a worker waits at most 1s for a daemon (limits.adoptWithin)'),
    ]);
    await expectWhole(project, runId);
    expect((await project.caisson('diff', runId)).stdout).toContain('+begun');
    expectGone(project, mark);
  });

  it('takes a killed worker for what it is: the run is lost, once', async () => {
    const project = createProject();
    const killed = await serve(project);
    const { runId, mark } = await startWorking(project);
    await killDaemon(killed);
    const [launched] = (await project.events(runId)).filter((event) => event.type === 'attempt.launched');
    const handle = launched?.['handle'] as { pid: number } | undefined;
    process.kill(handle?.pid ?? 0, 'SIGKILL');
    await serve(project);
    await untilStatus(project, runId, 'interrupted');
    await expectWhole(project, runId);
    expectGone(project, mark);
  });

  it('can be cancelled for: the agent that goes on without it is stopped', async () => {
    const project = createProject();
    const killed = await serve(project);
    const { runId, mark } = await startWorking(project);
    await killDaemon(killed);
    expect((await project.caisson('cancel', runId)).code).toBe(0);
    expect((await show(project, runId)).status).toBe('cancelled');
    await expectWhole(project, runId);
    expectGone(project, mark);
  });
});

it(
  'an order to stop a run that its daemon never read is given again when that is gone',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject();
    const daemon = await serve(project);
    const mark = `mark-${process.hrtime.bigint()}`;
    const run = project.start('run', '--', 'sh', '-c', `: ${mark}; echo up; sleep 300`);
    const ended = finish(run);
    const said = { out: '', err: '' };
    run.stdout?.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
    run.stderr?.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
    await until('the agent works', () => said.out === 'up\n', 30_000);
    process.kill(daemon, 'SIGSTOP');
    run.kill('SIGINT');
    await until('it stops', () => said.err.includes('Stopping'));
    await killDaemon(daemon);
    expect((await ended).code).toBe(130);
    const [row] = openedLedger(join(project.root, '.caisson')).runs();
    expect(row?.ending).toBe('dispatch.cancelled');
    expectGone(project, mark);
  },
);

describe('an agent without its daemon', { timeout: LIMIT_MS }, () => {
  it('is stopped at its time limit, with a result', async () => {
    const project = createProject();
    const killed = await serve(project);
    const { runId, mark } = await startWorking(project, '--timeout', '6s');
    await killDaemon(killed);
    await until('the agent is gone', () => pidsWith(mark).length === 0, 40_000);
    await untilStatus(project, runId, 'timeout');
    await expectWhole(project, runId);
    expectGone(project, mark);
  });

  it('leaves no secret in commits or names when nobody knows its value any more', async () => {
    const project = createProject({ env: { TOKEN: 'tell-nobody-0123456789' } });
    const killed = await serve(project);
    const line = `git checkout -qb "x-$TOKEN"; echo b > b; git add b; git -c user.name="$TOKEN" -c user.email=e@f commit -qm "msg $TOKEN"; echo up; sleep 300`;
    const { stdout } = await project.caisson(
      ...['run', '--detach', '--secret', 'TOKEN=env:TOKEN', '--', 'sh', '-c', line],
    );
    const runId = stdout.trim();
    await until('it is up', async () => (await project.caisson('logs', runId, '--stdout')).stdout === 'up\n');
    await killDaemon(killed);
    expect((await project.caisson('cancel', runId)).code).toBe(0);
    const refs = project.git('for-each-ref', '--format=%(refname)');
    expect(refs).toContain('/heads/');
    expect(refs).not.toContain('tell-nobody');
    const heads = refs.split('\n').filter((ref) => ref.includes('/heads/1/'));
    const said = heads.map((ref) => project.git('log', '-1', '--format=%an %s', ref)).join('');
    expect(said).toContain('withheld The message is withheld');
    expect(said).not.toContain('tell-nobody');
    expect(project.git('show', `${heads[0]}:b`)).toBe('b\n');
  });

  it('keeps the folder that it works in for itself, and still does when it is adopted', async () => {
    const project = createProject();
    const killed = await serve(project);
    const line = 'echo up; until [ -e go ]; do sleep 0.1; done';
    const { stdout } = await project.caisson(
      ...['run', '--detach', '--workspace', 'in-place', '--', 'sh', '-c', line],
    );
    const runId = stdout.trim();
    await until('it is up', async () => (await project.caisson('logs', runId, '--stdout')).stdout === 'up\n');
    await killDaemon(killed);
    const other = ['--no-daemon', '--state-dir', `${project.root}-other`, '--workspace', 'in-place'];
    const refused = async (): Promise<string> =>
      (await project.caisson('run', ...other, '--', 'true')).stderr;
    await until('the worker has claimed it', async () => (await refused()).includes(runId));
    await serve(project);
    expect(await refused()).toContain(runId);
    writeFileSync(join(project.root, 'go'), '');
    await untilStatus(project, runId, 'done');
    expect((await project.events(runId)).filter(({ type }) => type === 'warning')).toEqual([]);
    await until('it is free', async () => !(await refused()).includes('is in use'));
  });
});

describe('an adopted run', { timeout: LIMIT_MS }, () => {
  /** A run whose first daemon was killed, driven by the second. */
  async function adopt(project: Project, ...options: string[]): Promise<Working> {
    const killed = await serve(project);
    const working = await startWorking(project, ...options);
    await killDaemon(killed);
    await serve(project);
    return working;
  }

  it('can be cancelled, and outlives a second daemon, too', async () => {
    const project = createProject();
    const { runId, mark } = await adopt(project);
    const agents = pidsWith(mark);
    await serve(project, '--replace');
    expect(pidsWith(mark)).toEqual(agents);
    expect((await project.caisson('cancel', runId)).code).toBe(0);
    await untilStatus(project, runId, 'cancelled');
    const adopted = (await expectWhole(project, runId)).filter((event) => event.type === 'run.adopted');
    expect(adopted.map((event) => event['epoch'])).toEqual([2, 3]);
    expectGone(project, mark);
  });

  it('has its time limit from its start', async () => {
    const project = createProject();
    const { runId, mark } = await adopt(project, '--timeout', '20s');
    await untilStatus(project, runId, 'timeout');
    const { durationMs = 0 } = await show(project, runId);
    expect(durationMs).toBeGreaterThan(19_000);
    expect(durationMs).toBeLessThan(35_000);
    await expectWhole(project, runId);
    expectGone(project, mark);
  });

  it('gets the messages that are sent to it, each once', async () => {
    const project = createProject();
    const { runId, finish } = await adopt(project);
    expect((await project.caisson('send', runId, 'hello')).code).toBe(0);
    await until('it is received', async () =>
      typesOf(await project.events(runId)).includes('channel.received'),
    );
    finish();
    await untilStatus(project, runId, 'done');
    const types = typesOf(await expectWhole(project, runId));
    expect(types.filter((type) => type.startsWith('channel.'))).toEqual(['channel.sent', 'channel.received']);
  });

  it('keeps the secrets of its agent out of its record', async () => {
    const project = createProject({ env: { TOKEN: 'tell-nobody-0123456789' } });
    const killed = await serve(project);
    const line = `echo up; ${UNTIL_GO}; echo "it is $TOKEN" >&2; echo "$TOKEN" > "$TOKEN.txt"`;
    const { stdout } = await project.caisson(
      ...['run', '--detach', '--secret', 'TOKEN=env:TOKEN', '--', 'sh', '-c', line],
    );
    const runId = stdout.trim();
    await until('it is up', async () =>
      (await project.caisson('logs', runId, '--stdout')).stdout.startsWith('up'),
    );
    await killDaemon(killed);
    await serve(project);
    letGo(project, runId);
    await untilStatus(project, runId, 'done');
    await expectWhole(project, runId);
    const said = await project.caisson('logs', runId, '--stderr');
    expect(said.stdout).toContain('it is [redacted:TOKEN]');
    expect(JSON.stringify(await project.events(runId))).not.toContain('tell-nobody');
  });
});

describe('an end that leaves its agents', { timeout: LIMIT_MS }, () => {
  it.each([
    ['down --leave', (project: Project) => project.caisson('down', '--leave')],
    [
      'SIGTERM',
      async (project: Project) => {
        const { stdout } = await project.caisson('status', '-o', 'json');
        const { pid } = JSON.parse(stdout) as DaemonStatus;
        process.kill(pid, 'SIGTERM');
        await until('it has ended', () => isGone(pid), 30_000);
      },
    ],
    ['kill -9', (_project: Project, pid: number) => killDaemon(pid)],
  ])('by %s lets them go on, and the next daemon has them before anything else', async (how, end) => {
    const project = createProject({ config: 'limits: { concurrency: 1 }\n' });
    const pid = await serve(project);
    const { runId, mark, finish } = await startWorking(project);
    const queued = (await project.caisson('run', '--detach', '--', 'true')).stdout.trim();
    const agents = pidsWith(mark);
    await end(project, pid);
    expect((await project.caisson('status')).code).toBe(1);
    expect(pidsWith(mark)).toEqual(agents);
    await serve(project);
    const ledger = openedLedger(join(project.root, '.caisson'));
    const done = ledger.read({ types: ['run.adopted', 'dispatch.failed', 'dispatch.cancelled'] });
    const order = how === 'kill -9' ? [runId, queued] : [queued, runId];
    expect(done.map((event) => event.runId)).toEqual(order);
    await untilStatus(project, queued, 'interrupted');
    finish();
    await untilStatus(project, runId, 'done');
    await expectWhole(project, runId);
    expectGone(project, mark);
  });

  it.each([
    ['', () => undefined],
    [' of a daemon that stands still', (pid: number) => void process.kill(pid, 'SIGSTOP')],
  ])('is made by up --replace%s, which reports the runs that end with it', async (_of, prepare) => {
    const project = createProject({ config: 'limits: { concurrency: 1 }\n' });
    const old = await serve(project);
    const { runId, mark, finish } = await startWorking(project);
    const queued = (await project.caisson('run', '--detach', '--', 'true')).stdout.trim();
    prepare(old);
    const { stdout, stderr } = await project.caisson('up', '-d', '--replace', '-o', 'json');
    const { pid } = JSON.parse(stdout) as DaemonStatus;
    onTestFinished(() => void process.kill(pid, 'SIGKILL'));
    expect(stderr).toMatch(
      /its running agent goes on, and is adopted; 1 run that had no agent yet was stopped/,
    );
    expect([isGone(old), pid === old]).toEqual([true, false]);
    await untilStatus(project, queued, 'interrupted');
    finish();
    await untilStatus(project, runId, 'done');
    await expectWhole(project, runId);
    expectGone(project, mark);
  });
});

it('of two daemons that start at once one adopts the run', { timeout: LIMIT_MS }, async () => {
  const project = createProject();
  const killed = await serve(project);
  const { runId, mark, finish } = await startWorking(project);
  await killDaemon(killed);
  const starts = await Promise.all([1, 2].map(() => project.caisson('up', '-d', '-o', 'json')));
  expect(starts.filter(({ code }) => code === 0)).toHaveLength(1);
  const [{ pid }] = starts.flatMap(({ code, stdout }) =>
    code === 0 ? [JSON.parse(stdout) as DaemonStatus] : [],
  ) as [DaemonStatus];
  onTestFinished(() => void process.kill(pid, 'SIGKILL'));
  await until(
    'it is adopted',
    async () => typesOf(await project.events(runId)).includes('run.adopted'),
    60_000,
  );
  finish();
  await untilStatus(project, runId, 'done');
  const events = await expectWhole(project, runId);
  expect(typesOf(events).filter((type) => type === 'run.adopted')).toHaveLength(1);
  expectGone(project, mark);
});
