/** A run that breaks between two stages: it ends with the reason, and takes back what it had prepared. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../packages/engine/src/config/index.ts';
import { WorkerStartError } from '../../packages/engine/src/compute/index.ts';
import { createDispatcher } from '../../packages/engine/src/dispatch/index.ts';
import { type DispatchRooms } from '../../packages/engine/src/admission/index.ts';
import { createEngine, type Engine } from '../../packages/engine/src/engine.ts';
import { createRecorder, LedgerBusyError, type Ledger } from '../../packages/engine/src/ledger/index.ts';
import { openSpareWorkers } from '../../packages/engine/src/composition/open-spare-workers.ts';
import { createProject, finish, until, type Project } from '../e2e/project.ts';
import { listFolder } from './moments.ts';
import { findWorker } from './processes.ts';

const RUN = 'run_00000000000000000001';

async function openEngine(project: Project): Promise<Engine> {
  const config = await loadConfig({ cwd: project.root, env: project.env });
  // Without a spare: a worker that waits for the next run would look like one that was left behind.
  const engine = createEngine(config, project.root, {
    spareWorkers: openSpareWorkers({ keepsNext: false }),
  });
  onTestFinished(() => engine.close());
  await engine.openPost();
  return engine;
}

/** Rooms whose ledger cannot take one type of event. */
function withoutRoomFor({ rooms }: Engine, type: string): DispatchRooms {
  const append: Ledger['append'] = (events, options) =>
    events.some((event) => event.type === type)
      ? Promise.reject(new Error('the disk is full'))
      : rooms.ledger.append(events, options);
  return { ...rooms, recorder: createRecorder({ ledger: { append }, clock: rooms.clock }) };
}

function expectNothingLeft(project: Project): void {
  const state = join(project.root, '.caisson');
  for (const folder of ['jobs', 'net', 'captures', 'mailboxes', 'homes', 'overlays'])
    expect(listFolder(join(state, 'runtime', folder)), folder).toEqual([]);
  expect(listFolder(join(state, 'worktrees'))).toEqual([]);
  const groups = readdirSync('/sys/fs/cgroup').flatMap((name) =>
    listFolder(`/sys/fs/cgroup/${name}/caisson`),
  );
  expect(groups.filter((name) => name.startsWith(RUN))).toEqual([]);
}

const REQUEST = { runId: RUN, runtime: 'command', argv: ['true'], retries: 0 } as const;

describe('a run that breaks half-way', { timeout: 120_000 }, () => {
  it('in its last step of preparing takes back workspace, limits and folders', async () => {
    const project = createProject();
    const engine = await openEngine(project);
    const jobs = join(project.root, '.caisson/runtime/jobs');
    mkdirSync(join(jobs, `${RUN}.1.json`), { recursive: true }); // where the job file should go
    const result = await (await engine.dispatcher.dispatch({ ...REQUEST })).ended;
    expect(result).toMatchObject({ status: 'error', failure: { reason: 'worker-failed' } });
    expectNothingLeft(project);
    expect(engine.ledger.leases.listSlots()).toEqual([]);
    expect(engine.ledger.verifyRun(RUN)).toMatchObject({ ok: true });
  });

  it('while its worker starts has crashed, is tried again as asked, and takes everything back', async () => {
    const project = createProject();
    const engine = await openEngine(project);
    let starts = 0;
    const rooms: DispatchRooms = {
      ...engine.rooms,
      compute: {
        ...engine.rooms.compute,
        start: () => {
          starts += 1;
          return Promise.reject(new WorkerStartError('no more processes can be started'));
        },
      },
    };
    const result = await (await createDispatcher(rooms).dispatch({ ...REQUEST, retries: 1 })).ended;
    expect(starts).toBe(2);
    expect(result).toMatchObject({ status: 'error', failure: { reason: 'crashed' } });
    expectNothingLeft(project);
  });

  it('because its worker cannot take the job says which part of it, once, and takes everything back', async () => {
    const project = createProject();
    const engine = await openEngine(project);
    const rooms: DispatchRooms = {
      ...engine.rooms,
      settings: { ...engine.rooms.settings, heartbeatMs: 0.5 },
    };
    const result = await (await createDispatcher(rooms).dispatch({ ...REQUEST, retries: 2 })).ended;
    expect(result).toMatchObject({ status: 'error', failure: { reason: 'worker-failed', step: 1 } });
    expect(result.failure?.detail).toContain('heartbeatMs is not int');
    expect(engine.ledger.run(RUN)?.attempt).toBe(1);
    expectNothingLeft(project);
  });

  it('and whose ending the ledger takes only later waits for that, and gives its slot back', async () => {
    const engine = await openEngine(createProject());
    let refusals = 2;
    const append: Ledger['append'] = (events, options) =>
      events[0]?.type === 'dispatch.failed' && refusals-- > 0
        ? Promise.reject(new LedgerBusyError(engine.ledger.file))
        : engine.ledger.append(events, options);
    const { rooms } = engine;
    const dispatcher = createDispatcher({
      ...rooms,
      recorder: createRecorder({ ledger: { append }, clock: rooms.clock }),
      compute: { ...rooms.compute, start: () => Promise.reject(new WorkerStartError('no more processes')) },
    });
    const result = await (await dispatcher.dispatch({ ...REQUEST })).ended;
    expect(result).toMatchObject({ status: 'error', failure: { reason: 'crashed' } });
    expect(engine.ledger.leases.listSlots()).toEqual([]);
  });

  it('before it has a slot is sealed like any other', async () => {
    const engine = await openEngine(createProject());
    const { rooms } = engine;
    const tryTake = (): never => {
      throw new Error('a bug');
    };
    const leases = { ...rooms.ledger.leases, tryTake };
    const dispatcher = createDispatcher({ ...rooms, ledger: { ...rooms.ledger, leases } });
    const result = await (await dispatcher.dispatch({ ...REQUEST })).ended;
    expect(result).toMatchObject({ status: 'error', failure: { detail: 'a bug' } });
    expect(engine.ledger.run(RUN)?.unsealed).toBeUndefined();
  });

  it('when its launch cannot be recorded leaves no worker behind', async () => {
    const project = createProject();
    const engine = await openEngine(project);
    const rooms = withoutRoomFor(engine, 'attempt.launched');
    const result = await (await createDispatcher(rooms).dispatch({ ...REQUEST })).ended;
    expect(result).toMatchObject({
      status: 'error',
      failure: { reason: 'worker-failed', detail: 'the disk is full' },
    });
    expectNothingLeft(project);
    expect(() => findWorker(process.pid)).toThrow('has no worker');
  });

  it('when its start cannot be recorded never lets the agent go', async () => {
    const project = createProject({ git: false });
    const engine = await openEngine(project);
    const rooms = withoutRoomFor(engine, 'dispatch.started');
    const result = await (
      await createDispatcher(rooms).dispatch({ ...REQUEST, argv: ['touch', 'ran'] })
    ).ended;
    expect(result).toMatchObject({ status: 'error', failure: { reason: 'worker-failed', step: 5 } });
    expect(existsSync(join(project.root, 'ran'))).toBe(false);
    expectNothingLeft(project);
  });

  it.each([
    ['SIGINT', 'cancelled'],
    ['SIGTERM', 'interrupted'],
  ] as const)('by %s while it prepares ends at once as %s, without a worker', async (signal, status) => {
    const project = createProject();
    const child = project.start(
      ...['run', '-o', 'json', '--secret', 'KEY=exec:touch begun; sleep 30; echo x', '--', 'true'],
    );
    const ended = finish(child);
    await until('it prepares', () => existsSync(join(project.root, 'begun')));
    const startedMs = performance.now();
    child.kill(signal);
    const cli = await ended;
    expect(performance.now() - startedMs).toBeLessThan(3000);
    expect(cli.code).toBe(130);
    const result = JSON.parse(cli.stdout) as { runId: string; status: string };
    expect(result.status).toBe(status);
    const types = (await project.events(result.runId)).map((event) => event.type);
    expect(types).not.toContain('attempt.launched');
    expectNothingLeft(project);
  });
});

describe('recovery', { timeout: 120_000 }, () => {
  /** A run whose worker has finished and whose host stands still before it could look. */
  async function finishUnderStoppedHost(
    project: Project,
  ): Promise<{ host: number; ended: Promise<unknown> }> {
    const child = project.start('run', '--', 'sh', '-c', 'touch begun; sleep 0.5; echo precious > work.txt');
    const ended = finish(child);
    const state = join(project.root, '.caisson');
    const host = child.pid ?? 0;
    await until('the agent works', () =>
      listFolder(join(state, 'worktrees')).some((name) =>
        existsSync(join(state, 'worktrees', name, 'files/begun')),
      ),
    );
    process.kill(host, 'SIGSTOP');
    // Under its final name: beside it, for a moment, stands what is being written.
    await until('the result is there', () =>
      listFolder(join(state, 'runtime/results')).some((name) => name.endsWith('.result.json')),
    );
    return { host, ended };
  }

  it('believes a valid result of a dead host', async () => {
    const project = createProject();
    const { host, ended } = await finishUnderStoppedHost(project);
    process.kill(host, 'SIGKILL');
    await ended;
    const [row] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { status: string }[];
    expect(row?.status).toBe('done');
  });

  it('does not believe a result whose captures are gone, and still keeps the work', async () => {
    const project = createProject();
    const { host, ended } = await finishUnderStoppedHost(project);
    rmSync(join(project.root, '.caisson/runtime/captures'), { recursive: true });
    process.kill(host, 'SIGKILL');
    await ended;
    const [row] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[];
    const shown = JSON.parse(
      (await project.caisson('show', row?.runId ?? '', '-o', 'json')).stdout,
    ) as unknown;
    expect(shown).toMatchObject({ status: 'error', failure: { reason: 'output-invalid' } });
    expect((await project.caisson('diff', row?.runId ?? '')).stdout).toContain('+precious');
    expect(project.git('show', `refs/caisson/${row?.runId}/1:work.txt`)).toBe('precious\n');
  });

  it('ends a run also when its workspace and its git dir are gone, and does not block the others', async () => {
    const project = createProject();
    const { host, ended } = await finishUnderStoppedHost(project);
    for (const folder of ['worktrees', 'runtime/captures', 'runtime/results'])
      rmSync(join(project.root, '.caisson', folder), { recursive: true });
    process.kill(host, 'SIGKILL');
    await ended;
    const listed = await project.caisson('runs', '-o', 'json');
    expect(listed.code, listed.stderr).toBe(0);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ status: 'interrupted' }]);
    expect((await project.run('--', 'true')).status).toBe('done');
  });

  it('reports what it could not remove, and gc removes it later', async () => {
    const project = createProject();
    const { host, ended } = await finishUnderStoppedHost(project);
    const state = join(project.root, '.caisson');
    const [name = ''] = listFolder(join(state, 'worktrees'));
    const files = join(state, 'worktrees', name, 'files');
    // A process uses the worktree: it is not removed meanwhile.
    const leave = execSleepIn(files);
    process.kill(host, 'SIGKILL');
    await ended;
    expect((await project.caisson('runs')).code).toBe(0);
    expect(listFolder(join(state, 'worktrees'))).toEqual([name]);
    const warnings = (await project.events(name.replace(/\.1$/, ''))).filter(
      (event) => event.type === 'warning',
    );
    expect(warnings.map((event) => String(event['message'])).join()).toContain('processes still work in it');
    leave();
    expect((await project.caisson('gc')).code).toBe(0);
    expect(listFolder(join(state, 'worktrees'))).toEqual([]);
  });
});

function execSleepIn(folder: string): () => void {
  const pid = Number(
    execFileSync('sh', ['-c', 'sleep 300 >/dev/null 2>&1 & echo $!'], { cwd: folder, encoding: 'utf8' }),
  );
  const stop = (): void => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it was stopped before
    }
  };
  onTestFinished(stop);
  return stop;
}
