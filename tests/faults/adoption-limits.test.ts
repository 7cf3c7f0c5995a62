/** Agents without a daemon, and what limits them: caps, clocks, disks, and processes that stand still. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { DispatchResult } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, finish, parseLines, until, type CliRun, type Project } from '../e2e/project.ts';
import { WorkerHandle } from '../../packages/engine/src/compute/index.ts';
import { loadConfig } from '../../packages/engine/src/config/index.ts';
import { createEngine, type Engine } from '../../packages/engine/src/engine.ts';
import { cancelRun } from '../../packages/engine/src/operations/cancel-run.ts';
import { RunLeftError } from '../../packages/engine/src/admission/index.ts';
import { LedgerFullError } from '../../packages/engine/src/ledger/index.ts';
import { createHostBackoff, recover } from '../../packages/engine/src/recovery/index.ts';
import { fakeClock } from './fake-clock.ts';
import { fillDisk, fillerOf, mountTmpfs } from './harness/disks.ts';
import {
  expectWhole,
  isGone,
  killDaemon,
  openedLedger,
  serve,
  show,
  typesOf,
  untilAdopted,
  untilStatus,
} from './killed-daemons.ts';
import { command, createAgents, detach, letGo, untilAt, untilFile, usage } from './scripted-agents.ts';

const LIMIT_MS = 180_000;

/** A run of a shell that waits for the file `used`. */
const detachWaiting = (project: Project, ...options: string[]): Promise<string> =>
  detach({ project }, ...options, '--', 'sh', '-c', `${untilFile('used')}; echo end`);

function workerOf(stateDir: string, runId: string): number {
  const [launched] = openedLedger(stateDir).read({ runId, types: ['attempt.launched'] });
  return WorkerHandle.parse(launched?.data.handle).pid;
}

describe('an agent that goes on without a daemon', { timeout: LIMIT_MS }, () => {
  it('is stopped on adoption when it has passed its budget meanwhile', async () => {
    const agents = await createAgents([
      { ...command(untilFile('used')), ...usage(10, 1) },
      { ...command(untilFile('later')), ...usage(100_000, 1) },
      { say: 'Never.' },
    ]);
    const { project, model } = agents;
    const killed = await serve(project);
    const runId = await detach(agents, '--budget', '0.1', 'work on it');
    await untilAt(agents, runId, 'used');
    await killDaemon(killed);
    letGo(agents, runId, 'used');
    await untilAt(agents, runId, 'later');
    await serve(project);
    await untilStatus(project, runId, 'budget_exceeded');
    const { costUsd = 0 } = await show(project, runId);
    expect([costUsd > 0.3, costUsd < 0.31, model.modelRequests().length]).toEqual([true, true, 2]);
    await expectWhole(project, runId);
  });

  it.each([
    ['forwards', '+86400'],
    ['backwards', '-86400'],
  ])(
    'keeps the deadlines of its time and of its approvals when the wall clock jumps %s',
    async (_where, offset) => {
      const agents = await createAgents([command('rm -rf old'), { say: 'Removed.' }]);
      const { project } = agents;
      const clock = fakeClock(project);
      const killed = await serve(project);
      const runId = await detach(agents, '--mode', 'full-auto', '--timeout', '60s', 'clean up');
      const ledger = openedLedger(join(project.root, '.caisson'));
      const asked = await until(
        'it is asked',
        () => ledger.read({ runId, types: ['approval.requested'] })[0],
        60_000,
      );
      await killDaemon(killed);
      clock.jump(offset);
      const worker = workerOf(join(project.root, '.caisson'), runId);
      process.kill(worker, 'SIGSTOP'); // it gives nothing to the next daemon
      await serve(project);
      await untilAdopted(project, runId);
      const approve = (): Promise<CliRun> => project.caisson('approve', asked.data.approvalId);
      expect(await approve()).toMatchObject({ code: 1, stderr: expect.stringContaining('Decide it again') });
      process.kill(worker, 'SIGCONT');
      await until('it can be decided', async () => (await approve()).code === 0, 30_000);
      await untilStatus(project, runId, 'done');
      const events = await expectWhole(project, runId);
      expect(events.filter(({ type }) => type === 'approval.decided')).toMatchObject([
        { decision: 'allow', by: 'user' },
      ]);
    },
  );

  it('ends when its disk is full, and its run is settled once there is room, with its work kept', async (context) => {
    if (process.getuid?.() !== 0) context.skip('only root can mount a small disk');
    const plain = createProject({ env: { CAISSON_HEARTBEAT_MS: '100' } });
    const disk = mountTmpfs(join(plain.root, '../disk'), '8m');
    onTestFinished(() => disk.remove());
    const stateDir = join(disk.path, 'state');
    const project = withState(plain, stateDir);
    const killed = await serve(project);
    const runId = await detachWaiting(project);
    await until('it waits', () => existsSync(join(stateDir, `worktrees/${runId}.1/files/at-used`)), 20_000);
    await killDaemon(killed);
    const worker = workerOf(stateDir, runId);
    fillDisk(disk.path);
    await until('it has ended', () => isGone(worker), 30_000);
    const refused = await project.caisson('up', '-d');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/full|space|ENOSPC/i)]);
    rmSync(fillerOf(disk.path));
    await serve(project);
    await until('it is settled', async () => (await show(project, runId)).status !== 'running', 30_000);
    expect(typesOf(await expectWhole(project, runId))).toContain('dispatch.failed');
    expect((await project.caisson('diff', runId)).stdout).toContain('at-used');
  });

  it('is adopted once there is room, if the disk was full when the next daemon came', async (context) => {
    if (process.getuid?.() !== 0) context.skip('only root can mount a small disk');
    const plain = createProject({ env: { CAISSON_HEARTBEAT_MS: '60000' } }); // it writes nothing meanwhile
    const disk = mountTmpfs(join(plain.root, '../disk'), '16m');
    onTestFinished(() => disk.remove());
    const left = await leaveWaiting(withState(plain, join(disk.path, 'state')), join(disk.path, 'state'));
    const { engine, runId } = left;
    engine.beginAdopting();
    fillDisk(disk.path);
    // The daemon's timer and each follower of a run check: none of them may delay it.
    for (let check = 0; check < 8; check += 1)
      await expect(engine.recover({ isRepeated: true })).rejects.toThrow(LedgerFullError);
    expect(isGone(left.worker)).toBe(false);
    rmSync(fillerOf(disk.path));
    expect(await engine.recover({ isRepeated: true })).toMatchObject({ adopted: [runId] });
    await left.finish();
  });

  it('goes on when the next daemon adopts it and cannot serve then, and is adopted by the one after that', async () => {
    const project = createProject();
    const killed = await serve(project);
    const runId = await detachWaiting(project);
    await untilAt({ project }, runId, 'used');
    await killDaemon(killed);
    const socket = join(project.root, '.caisson/runtime/daemon.sock');
    rmSync(socket);
    mkdirSync(socket); // it cannot listen there
    expect((await project.caisson('up', '-d')).code).not.toBe(0);
    await untilAdopted(project, runId);
    expect(isGone(workerOf(join(project.root, '.caisson'), runId))).toBe(false);
    rmdirSync(socket);
    await serve(project);
    await untilAdopted(project, runId, 2);
    letGo({ project }, runId, 'used');
    await untilStatus(project, runId, 'done');
    await expectWhole(project, runId);
  });

  it('is not adopted where its project was moved meanwhile: it works at the old place', async () => {
    const project = createProject();
    const { engine, runId, worker } = await leaveWaiting(project, join(project.root, '.caisson'));
    const { hosts, openPost: announce, dispatcher } = engine;
    const moved = join(project.root, '../moved');
    const settings = { ...engine.rooms.settings, stateDir: moved };
    mkdirSync(moved);
    symlinkSync(join(project.root, '.caisson/runtime'), join(moved, 'runtime')); // its socket moved along
    const rooms = { ...engine.rooms, settings };
    const repairRefs = (): Promise<void> => Promise.resolve();
    const how = { rooms, hosts, announce, repairRefs, adopt: dispatcher.adopt, drives: () => false };
    expect(await recover(how)).toMatchObject({ adopted: [], settled: [runId] });
    expect([isGone(worker), engine.ledger.run(runId)?.ending]).toEqual([true, 'dispatch.failed']);
    const ending = engine.ledger.read({ runId, types: ['dispatch.failed'] })[0];
    expect(ending?.data.failure.detail).toMatch(/works in .*, outside of .*moved/);
  });

  it('is stopped where a daemon starts at the place to which its project was moved', async () => {
    const project = createProject({ config: 'limits: { adoptWithin: 60s }\n' });
    const killed = await serve(project);
    const runId = await detachWaiting(project);
    await untilAt({ project }, runId, 'used');
    await killDaemon(killed);
    const worker = workerOf(join(project.root, '.caisson'), runId);
    const at = `${project.root}-moved`;
    renameSync(project.root, at);
    const moved = createProject({ at, env: project.env });
    await serve(moved);
    await until('its worker is gone', () => isGone(worker), 30_000);
    await untilStatus(moved, runId, 'interrupted');
    expect((await show(moved, runId)).failure?.detail).toMatch(/(?:outside of|does not belong to) .*-moved/);
    expect(existsSync(project.root)).toBe(false);
  });

  it('is settled once when it gave up after the next daemon had found it, and before that one asked it', async () => {
    const project = createProject({ config: 'limits: { adoptWithin: 1s }\n' });
    const { engine, runId, worker } = await leaveWaiting(project, join(project.root, '.caisson'), {
      onWaiting: (pid) => void process.kill(pid, 'SIGSTOP'), // its time begins when it goes on
    });
    const { rooms, hosts, openPost: announce, dispatcher } = engine;
    let isGoneFirst = false;
    const adopt: typeof dispatcher.adopt = async (found) => {
      process.kill(worker, 'SIGCONT');
      await until('it has given up', () => isGone(worker), 60_000);
      isGoneFirst = true;
      return await dispatcher.adopt(found);
    };
    const repairRefs = (): Promise<void> => Promise.resolve();
    await recover({ rooms, hosts, announce, repairRefs, adopt, drives: () => false });
    await dispatcher.active(runId)?.ended;
    expect([isGoneFirst, engine.ledger.run(runId)?.ending]).toEqual([true, 'dispatch.failed']);
    const events = await expectWhole(project, runId);
    expect(typesOf(events).filter((type) => type === 'run.adopted')).toHaveLength(1);
    const { failure } = await show(project, runId);
    expect(failure).toMatchObject({ reason: 'lost' });
    expect((await project.caisson('diff', runId)).stdout).toContain('at-used');
  });

  it('is adopted with the next check after an adoption that failed', async () => {
    const project = createProject();
    const { engine, runId, finish: end } = await leaveWaiting(project, join(project.root, '.caisson'));
    const { rooms, hosts, openPost: announce, clock, dispatcher } = engine;
    const how = {
      rooms,
      hosts,
      announce,
      repairRefs: () => Promise.resolve(),
      drives: () => false,
      backoff: createHostBackoff(clock),
    };
    const full = new LedgerFullError(engine.ledger.file);
    const failing = { ...how, adopt: () => Promise.reject(full) };
    for (let check = 0; check < 8; check += 1) await expect(recover(failing)).rejects.toThrow(full);
    expect(await recover({ ...how, adopt: dispatcher.adopt })).toMatchObject({ adopted: [runId] });
    await end();
  });

  it.each([
    ['', (): void => undefined, 'dispatch.finished'],
    [', unless it has ended', (worker: number) => void process.kill(worker, 'SIGKILL'), 'dispatch.failed'],
  ])('is driven by a host that owns it and could not take its slot%s', async (_unless, meanwhile, ending) => {
    const project = createProject();
    const left = await leaveWaiting(project, join(project.root, '.caisson'));
    const { engine, runId, worker } = left;
    const { leases } = engine.ledger;
    const { transfer } = leases;
    const busy = new LedgerFullError(engine.ledger.file);
    Object.assign(leases, {
      transfer() {
        leases.transfer = transfer; // it fails once
        throw busy;
      },
    });
    engine.beginAdopting();
    await expect(engine.recover()).rejects.toThrow(busy);
    expect([engine.ledger.run(runId)?.host, engine.dispatcher.active(runId)]).toEqual([engine.hostId, null]);
    meanwhile(worker);
    await until('its worker is as it is', () => ending === 'dispatch.finished' || isGone(worker));
    const { adopted, settled } = await engine.recover({ isRepeated: true });
    expect([...adopted, ...settled]).toEqual([runId]);
    if (ending === 'dispatch.finished') await left.finish();
    const types = typesOf(await expectWhole(project, runId));
    expect([types.filter((type) => type === 'run.adopted').length, types.includes(ending)]).toEqual([
      1,
      true,
    ]);
    expect(leases.listSlots()).toEqual([]);
  });
});

it.each(['before it owns the run', 'while it takes the run over'])(
  'a daemon that leaves %s leaves its agent to the next one',
  { timeout: LIMIT_MS },
  async (moment) => {
    const project = createProject();
    const stateDir = join(project.root, '.caisson');
    const { engine, runId, worker } = await leaveWaiting(project, stateDir);
    const { rooms, hosts, openPost: announce, dispatcher, ledger } = engine;
    const { transfer } = ledger.leases;
    if (moment.startsWith('before')) await dispatcher.leave();
    ledger.leases.transfer = (...given) => {
      void dispatcher.leave();
      transfer(...given);
    };
    const repairRefs = (): Promise<void> => Promise.resolve();
    const how = { rooms, hosts, announce, repairRefs, adopt: dispatcher.adopt, drives: () => false };
    expect(await recover(how)).toMatchObject({ adopted: [], settled: [] });
    expect(dispatcher.active(runId)).toBe(null);
    await engine.close();
    expect(isGone(worker)).toBe(false);
    const other = await openNextHost(project, stateDir);
    other.beginAdopting();
    expect((await other.recover()).adopted).toEqual([runId]);
    letGo({ project }, runId, 'used');
    expect(await other.dispatcher.active(runId)?.ended).toMatchObject({ status: 'done' });
    await expectWhole(project, runId);
  },
);

/** This process, as a host that may adopt. */
async function openNextHost(project: Project, stateDir: string): Promise<Engine> {
  const config = await loadConfig({ cwd: project.root, env: project.env, flags: { state: stateDir } });
  const engine = createEngine(config, project.root, { isDaemon: true });
  onTestFinished(() => engine.close());
  return engine;
}

/** A run whose daemon was killed while its command waits, and this process as the next host of the project. */
async function leaveWaiting(
  project: Project,
  stateDir: string,
  { onWaiting }: { onWaiting?: (worker: number) => void } = {},
) {
  const killed = await serve(project);
  const runId = await detachWaiting(project);
  const files = join(stateDir, `worktrees/${runId}.1/files`);
  await until('it waits', () => existsSync(join(files, 'at-used')), 20_000);
  onWaiting?.(workerOf(stateDir, runId));
  await killDaemon(killed);
  const engine = await openNextHost(project, stateDir);
  const { host = '' } = engine.ledger.run(runId) ?? {};
  // The process counts as gone with its main thread; the kernel may take longer to close the socket.
  await until('its host is dead', async () => !(await engine.hosts.isAlive(host)));
  const end = async (): Promise<void> => {
    writeFileSync(join(files, 'used'), '');
    await engine.dispatcher.active(runId)?.ended;
    expect(typesOf(await expectWhole(project, runId))).toContain('dispatch.finished');
  };
  return { engine, runId, worker: workerOf(stateDir, runId), finish: end };
}

/** The same project with its state in another folder. */
function withState(project: Project, stateDir: string): Project {
  const caisson: Project['caisson'] = (name = '', ...args) =>
    project.caisson(name, '--state-dir', stateDir, ...args);
  return {
    ...project,
    caisson,
    events: async (run) => parseLines((await caisson('logs', run, '-o', 'ndjson')).stdout),
  };
}

it(
  'a run is cancelled while its host leaves it: it is neither driven nor ended then',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject();
    const stateDir = join(project.root, '.caisson');
    const { engine, runId, worker } = await leaveWaiting(project, stateDir);
    engine.beginAdopting();
    expect((await engine.recover()).adopted).toEqual([runId]);
    await engine.dispatcher.leave();
    await expect(cancelRun(engine, runId)).rejects.toThrow(RunLeftError);
    const other = await openNextHost(project, stateDir);
    const asked = Promise.withResolvers<unknown>();
    const order: typeof other.hosts.order = (...given) => {
      const reply = other.hosts.order(...given);
      asked.resolve(reply);
      return reply;
    };
    const cancelled = cancelRun({ ...other, hosts: { ...other.hosts, order } }, runId);
    expect(await asked.promise).toMatchObject({ ok: false });
    await engine.close();
    expect([await cancelled, isGone(worker)]).toEqual(['settled', true]);
    expect(other.ledger.run(runId)?.ending).toBe('dispatch.cancelled');
  },
);

describe('a process that stands still', { timeout: LIMIT_MS }, () => {
  it('is no lost host: the worker of a stopped daemon waits, and its run ends once', async () => {
    const project = createProject({
      config: 'limits: { adoptWithin: 1s }\n',
      env: { CAISSON_HEARTBEAT_MS: '200' },
    });
    const daemon = await serve(project);
    const runId = await detachWaiting(project);
    await untilAt({ project }, runId, 'used');
    process.kill(daemon, 'SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 4000)); // the standing still itself
    process.kill(daemon, 'SIGCONT');
    letGo({ project }, runId, 'used');
    await untilStatus(project, runId, 'done');
    expect(typesOf(await expectWhole(project, runId))).not.toContain('run.adopted');
  });

  it('leaves a run that another host took over meanwhile: woken, it writes nothing of it and stops nothing', async () => {
    const project = createProject();
    const stateDir = join(project.root, '.caisson');
    const frozen = await serve(project);
    const runId = await detachWaiting(project);
    await untilAt({ project }, runId, 'used');
    const worker = workerOf(stateDir, runId);
    process.kill(frozen, 'SIGSTOP');
    const engine = await openNextHost(project, stateDir);
    const { rooms, openPost: announce, dispatcher, hostId } = engine;
    const hosts = { ...engine.hosts, isAlive: () => Promise.resolve(false), forget: () => undefined };
    const repairRefs = (): Promise<void> => Promise.resolve();
    const how = { rooms, hosts, announce, repairRefs, adopt: dispatcher.adopt, drives: () => false };
    expect(await recover(how)).toMatchObject({ adopted: [runId] });
    process.kill(frozen, 'SIGCONT');
    const log = join(stateDir, 'runtime/daemon.log');
    await until('it serves again', async () => (await project.caisson('status')).code === 0, 30_000);
    letGo({ project }, runId, 'used');
    await dispatcher.active(runId)?.ended;
    const types = typesOf(await expectWhole(project, runId));
    expect([types.filter((type) => type === 'run.adopted').length, types.at(-1)]).toEqual([
      1,
      'evidence.sealed',
    ]);
    expect([workerOf(stateDir, runId), engine.ledger.run(runId)?.host]).toEqual([worker, hostId]);
    expect([isGone(frozen), types.includes('dispatch.finished')]).toEqual([false, true]);
    expect(readFileSync(log, 'utf8')).not.toMatch(/ (?:interrupted|cancelled|error) after /);
  });

  it('is asked for as long as it would wait: then its run is settled, and the daemon serves meanwhile', async () => {
    const project = createProject({ config: 'limits: { adoptWithin: 5s }\n' });
    const killed = await serve(project);
    const runId = await detachWaiting(project);
    await untilAt({ project }, runId, 'used');
    await killDaemon(killed);
    process.kill(workerOf(join(project.root, '.caisson'), runId), 'SIGSTOP');
    await serve(project);
    expect((await project.run('--', 'true')).status).toBe('done');
    expect((await show(project, runId)).status).toBe('running');
    await untilStatus(project, runId, 'interrupted');
    await expectWhole(project, runId);
  });
});

it(
  'who follows a run or the project, and a run in the foreground, follow across the adoption',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject({ env: { CAISSON_HEARTBEAT_MS: '200' } });
    const ledger = join(project.root, '.caisson');
    const killed = await serve(project);
    const watched = project.start('run', '-o', 'json', '--', 'sh', '-c', `${untilFile('used')}; echo end`);
    watched.stdin?.end();
    const watchedEnd = finish(watched);
    await until('it is accepted', () => openedLedger(ledger).runs().length === 1, 30_000);
    const runId = openedLedger(ledger).runs()[0]?.runId ?? '';
    await untilAt({ project }, runId, 'used');
    const logs = follow(project, 'logs', runId, '-f', '-o', 'ndjson');
    const types = ['worker.heartbeat', 'run.adopted', 'dispatch.finished'].flatMap((type) => [
      '--type',
      type,
    ]);
    const events = follow(project, 'events', '-f', ...types);
    const all = follow(project, 'logs', '--all', '-f', '-o', 'ndjson');
    const followers = [logs, events, all];
    const isLive = (): boolean => followers.every(({ news }) => news().includes('"worker.heartbeat"'));
    await until('it is followed live', isLive, 30_000);
    events.child.kill('SIGSTOP'); // what is recorded meanwhile comes all the same
    await killDaemon(killed);
    await serve(project);
    await untilAdopted(project, runId);
    events.child.kill('SIGCONT');
    const isSeen = (): boolean => followers.every(({ news }) => news().includes('"run.adopted"'));
    await until('the adoption is seen', isSeen, 30_000);
    for (const { forget } of followers) forget();
    await until('it is followed live again', isLive, 30_000);
    letGo({ project }, runId, 'used');
    const { code, stdout } = await logs.ended;
    expect(code).toBe(0);
    const seen = parseLines(stdout).filter(({ seq }) => seq > 0);
    const recorded = await expectWhole(project, runId);
    expect(seen.map(({ seq }) => seq)).toEqual(recorded.slice(0, seen.length).map(({ seq }) => seq));
    expect(typesOf(seen)).toContain('dispatch.finished');
    expect((JSON.parse((await watchedEnd).stdout) as DispatchResult).stdout).toBe('end\n');
    for (const { child, ended, news } of [events, all]) {
      await until('its end is seen', () => news().includes('"dispatch.finished"'), 30_000);
      child.kill('SIGINT');
      const durable = parseLines((await ended).stdout).filter(({ seq }) => seq > 0);
      expect(typesOf(durable).filter((type) => /adopted|finished/.test(type))).toEqual([
        'run.adopted',
        'dispatch.finished',
      ]);
    }
  },
);

/** A command that follows; `news` is what it printed since `forget`. */
function follow(project: Project, ...words: string[]) {
  const child = project.start(...words);
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { child, ended: finish(child), news: () => text, forget: () => void (text = '') };
}
