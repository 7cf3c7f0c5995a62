/** A daemon of a project, with the built program: how it starts, carries out runs, and ends. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readProcess } from '@caisson/ground';
import type { DaemonStatus, DispatchResult } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { receiveNotices } from '../../packages/engine/src/daemon/fixtures/receive-notices.ts';
import { BIN, createProject, finish, pidsWith, until, type Project } from './project.ts';

const LIMIT_MS = 120_000;
const SYSTEMD = '/usr/bin/systemd-analyze';

interface Served {
  readonly project: Project;
  readonly pid: number;
  readonly status: () => Promise<DaemonStatus>;
}

/** A project with a daemon in the background, which ends with the test. */
async function serve(project = createProject(), ...options: string[]): Promise<Served> {
  const { stdout, stderr } = await project.caisson('up', '-d', ...options, '-o', 'json');
  if (stdout === '') throw new Error(stderr);
  const { pid } = JSON.parse(stdout) as DaemonStatus;
  onTestFinished(() => endProcess(pid));
  return { project, pid, status: () => readStatus(project) };
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}

async function readStatus(project: Project): Promise<DaemonStatus> {
  const { stdout } = await project.caisson('status', '-o', 'json');
  return JSON.parse(stdout) as DaemonStatus;
}

/** A zombie has ended: nobody may wait for a process that outlived the one that started it. */
function isGone(pid: number): boolean {
  const state = readProcess(pid)?.state ?? 'X';
  return state === 'X' || state === 'Z';
}

/** As a daemon that serves the project and does not answer. */
function leaveLease({ root }: Project, process: Pick<DaemonStatus, 'pid' | 'startTime'> | null): void {
  const identity = {
    ...{ pid: process?.pid, startTime: process?.startTime, hostId: 'host_silent' },
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    ...{ version: '0.1.0', startedAt: '2026-01-01T00:00:00.000Z' },
  };
  const db = new DatabaseSync(join(root, '.caisson/ledger.db'));
  db.prepare('INSERT OR REPLACE INTO kv VALUES (?, ?, ?)').run('daemon', 'lease', JSON.stringify(identity));
  db.close();
}

/** A daemon in a pid namespace of its own, as in a container. Resolves with its exit code. */
async function startHidden({ root, env }: Project): Promise<unknown> {
  const apart = ['--unshare-pid', '--die-with-parent', '--dev-bind', '/', '/', '--proc', '/proc'];
  const child = spawn('bwrap', [...apart, process.execPath, BIN, 'up'], { cwd: root, env, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [code] = await once(child, 'exit');
  return code;
}

const readLog = ({ root }: Project): string =>
  readFileSync(join(root, '.caisson/runtime/daemon.log'), 'utf8');

/** Starts a detached run that works until its file `go` appears. */
async function startWaiting(project: Project): Promise<{ runId: string; mark: string }> {
  const mark = `sleep 3${process.hrtime.bigint()}`;
  const line = `echo kept > work.txt; echo up; ${mark}; echo never`;
  const { stdout } = await project.caisson('run', '--detach', '--', 'sh', '-c', line);
  const runId = stdout.trim();
  await until('it is up', async () => (await project.caisson('logs', runId, '--stdout')).stdout === 'up\n');
  return { runId, mark };
}

async function show(project: Project, runId: string): Promise<DispatchResult> {
  return JSON.parse((await project.caisson('show', runId, '-o', 'json')).stdout) as DispatchResult;
}

/** `systemd-analyze` makes folders for the user; they belong to the test. */
function verifyEnvironment({ root, env }: Project): Record<string, string> {
  return { ...env, XDG_RUNTIME_DIR: join(root, '..') };
}

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly body: unknown;
}

/** Asks the daemon without anything of ours. */
async function ask({ root }: Project, method: string, path: string, body = ''): Promise<Answer> {
  const socketPath = join(root, '.caisson/runtime/daemon.sock');
  const asked = request({ socketPath, method, path, headers: { host: 'localhost' } });
  asked.end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await response.toArray()).toString('utf8');
  return {
    status: response.statusCode,
    type: response.headers['content-type'],
    body: JSON.parse(text) as unknown,
  };
}

describe('a daemon', { timeout: LIMIT_MS }, () => {
  it('obeys the order to end although who gave it cannot be recorded: the ledger is locked', async () => {
    const { project, pid } = await serve();
    const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
    db.exec('BEGIN IMMEDIATE');
    const startedMs = performance.now();
    const answer = await ask(project, 'POST', '/v1/stop', '{"now":true}').finally(() => db.close());
    const isSoon = performance.now() - startedMs < 15_000; // it waits for a lock twice as long
    expect([answer.status, isSoon]).toEqual([202, true]);
    await until('it has ended', () => isGone(pid));
  });

  it('takes the same words as without it: what a person does with an ended run', async () => {
    const { project } = await serve();
    const made = async (name: string): Promise<string> =>
      (await project.run('--', 'sh', '-c', `echo made > ${name}`)).runId;
    const [first, second] = [await made('a.txt'), await made('b.txt')];
    const commands = [
      ['apply', first],
      ['apply', second, '--leave-conflicts', '--force', '--allow-risky', '--outside-scope', '--here'],
      ['show', first],
      ['diff', first],
      ['verify', first],
      ['verify', '--all'],
      ['export', first, '--to', join(project.root, '..', 'bundle.json')],
      ['runs', '--status', 'done', '--limit', '1', '--since', '1h'],
      ['runs', '--text', 'made'],
      ['budget'],
      ['questions'],
      ['approvals', '--all'],
      ['branches'],
      ['du'],
      ['gc'],
      ['doctor'],
      ['forget', first],
    ];
    const failed: string[] = [];
    for (const words of commands) {
      const { code, stdout, stderr } = await project.caisson(...words);
      if (code !== 0) failed.push(`${words.join(' ')}: ${code} ${stdout}${stderr}`);
    }
    expect(failed).toEqual([]);
    expect(['a.txt', 'b.txt'].map((name) => existsSync(join(project.root, name)))).toEqual([true, true]);
  });

  it('carries out the runs of other processes, reports itself, and ends', async () => {
    const { project, pid } = await serve();
    const run = await project.run('--', 'sh', '-c', 'echo hello; echo x > file');
    expect([run.status, run.stdout]).toEqual(['done', 'hello\n']);
    const listed = await project.caisson('status');
    expect([listed.code, listed.stdout]).toEqual([
      0,
      expect.stringMatching(/serving for .*, pid \d+, version/),
    ]);
    expect(await readStatus(project)).toMatchObject({
      ...{ daemon: 'answers', pid, phase: 'serving', running: 0, queued: 0, runs: [] },
      socket: join(project.root, '.caisson/runtime/daemon.sock'),
      log: join(project.root, '.caisson/runtime/daemon.log'),
    });
    expect(statSync(join(project.root, '.caisson/runtime/daemon.sock')).mode & 0o777).toBe(0o600);
    expect(readLog(project)).toMatch(
      new RegExp(`Serving [^]*${run.runId} started \\(command\\): sh [^]*${run.runId} done after`),
    );
    const down = await project.caisson('down');
    expect([down.code, down.stdout]).toEqual([0, 'The daemon has ended.\n']);
    expect(isGone(pid)).toBe(true);
    expect(existsSync(join(project.root, '.caisson/runtime/daemon.sock'))).toBe(false);
    expect((await project.run('--', 'true')).status).toBe('done');
  });

  it('is one per project: another one says who it is, and none is no error for down alone', async () => {
    const { project, pid } = await serve();
    for (const args of [['up', '-d'], ['up']]) {
      const second = await project.caisson(...args);
      expect([second.code, second.stderr]).toEqual([
        1,
        expect.stringMatching(
          new RegExp(`^error: a daemon serves this project already \\(pid ${pid}, version`),
        ),
      ]);
    }
    expect((await project.caisson('down', '--now')).code).toBe(0);
    const none = await project.caisson('status');
    expect([none.code, none.stdout]).toEqual([1, expect.stringContaining('caisson up -d')]);
    expect(await project.caisson('down')).toMatchObject({
      code: 0,
      stdout: 'No daemon serves this project.\n',
    });
    expect(await project.caisson('reload')).toMatchObject({ code: 1 });
  });

  it('of a project that was moved is named with that place, as by other commands, and replaced', async () => {
    const project = createProject();
    const state = join(project.root, '../state');
    const { pid } = await serve(project, '--state-dir', state);
    const moved = join(project.root, '../moved');
    renameSync(project.root, moved);
    const caisson = (...words: string[]) =>
      finish(
        spawn(process.execPath, [BIN, ...words, '--state-dir', state], { cwd: moved, env: project.env }),
      );
    const said = `the daemon of this state folder serves ${project.root}, which is not there any more, and not ${moved}`;
    for (const words of [['up', '-d'], ['up'], ['run', '--detach', 'x']]) {
      const { code, stderr } = await caisson(...words);
      expect([words, code, stderr]).toEqual([words, 1, expect.stringContaining(said)]);
      expect(stderr).toContain('caisson up -d --replace');
    }
    const replaced = await caisson('up', '-d', '--replace', '-o', 'json');
    const next = JSON.parse(replaced.stdout) as DaemonStatus;
    onTestFinished(() => endProcess(next.pid));
    expect([replaced.code, next.projectRoot, isGone(pid)]).toEqual([0, moved, true]);
  });

  it('of another project that shares the state folder is not replaced', async () => {
    const [project, other] = [createProject(), createProject()];
    const state = join(project.root, '../state');
    const { pid } = await serve(project, '--state-dir', state);
    const caisson = (...words: string[]) =>
      finish(spawn(process.execPath, [BIN, ...words], { cwd: other.root, env: project.env }));
    expect(await caisson('trust', '--yes')).toMatchObject({ code: 0 });
    const { code, stderr } = await caisson('up', '-d', '--replace', '--state-dir', state);
    expect([code, stderr]).toEqual([
      1,
      `error: ${other.root} belongs to another project than ${project.root}, which the daemon of this state folder serves. Each project has a state folder of its own: name another one with --state-dir.\n`,
    ]);
    expect(isGone(pid)).toBe(false);
  });

  it('of two that start at the same time one serves, and the other names it', async () => {
    const project = createProject();
    await project.trust();
    for (let pair = 0; pair < 3; pair += 1) {
      const both = await Promise.all([finish(project.start('up', '-d')), finish(project.start('up', '-d'))]);
      const { pid } = await readStatus(project);
      onTestFinished(() => endProcess(pid));
      expect(new Set(both.map(({ code }) => code)), JSON.stringify(both)).toEqual(new Set([0, 1]));
      const [lost] = both.filter(({ code }) => code === 1);
      expect(lost?.stderr).toMatch(new RegExp(`^error: .*\\(pid ${pid}, version`));
      await project.caisson('down', '--now');
      expect(isGone(pid)).toBe(true);
    }
    expect(pidsWith(`${project.root}/.caisson`)).toEqual([]);
  });

  it('serves in the foreground until Ctrl-C', async () => {
    const project = createProject();
    await project.trust();
    const daemon = project.start('up');
    const ended = finish(daemon);
    let said = '';
    daemon.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until('it serves', () => said.includes('Serving'));
    const { runId } = await project.run('--', 'true');
    daemon.kill('SIGINT');
    expect((await ended).code).toBe(0);
    expect(said).toMatch(new RegExp(`Serving[^]*${runId} done after[^]*Stopping[^]*Ended\\.`));
  });

  it('ends in order after a task whose key a run of another host has', async () => {
    const project = createProject();
    const keyed = ['--idempotency-key', 'one', '--detach'];
    const line = ['--', 'sleep', `3${process.hrtime.bigint()}`];
    const { stdout } = await project.caisson('run', '--no-daemon', ...keyed, ...line);
    const runId = stdout.trim();
    const daemon = project.start('up');
    const ended = finish(daemon);
    await until('it serves', async () => (await project.caisson('status')).code === 0);
    expect((await project.caisson('run', ...keyed, ...line)).stdout.trim()).toBe(runId);
    expect(await project.caisson('down')).toMatchObject({ code: 0 });
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
    expect(await project.caisson('cancel', runId)).toMatchObject({ code: 0 });
  });

  it('that takes long to start is waited for, and up -d names its log', async () => {
    const project = createProject();
    await project.run('--', 'true');
    const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
    onTestFinished(() => db.close());
    db.exec('BEGIN IMMEDIATE');
    const up = project.start('up', '-d', '-o', 'json');
    const ended = finish(up);
    let said = '';
    up.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until('it says so', () => /still starting; .*daemon-start\.\d+\.log/.test(said), 25_000).finally(
      () => db.exec('ROLLBACK'),
    );
    const { code, stdout } = await ended;
    const { pid } = JSON.parse(stdout) as DaemonStatus;
    onTestFinished(() => endProcess(pid));
    expect([code, isGone(pid)]).toEqual([0, false]);
  });

  it('whose up -d was ended while it started names its own log', async () => {
    const project = createProject();
    await project.run('--', 'true');
    const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
    onTestFinished(() => db.close());
    db.exec('BEGIN IMMEDIATE');
    const up = project.start('up', '-d');
    const runtime = join(project.root, '.caisson/runtime');
    const listLogs = (): string[] => readdirSync(runtime).filter((name) => /^daemon.*\.log$/.test(name));
    await until('it starts', () => listLogs().length > 0);
    await until('it has its log', () => pidsWith(`${BIN} up`).some((pid) => pid !== up.pid));
    const ended = finish(up);
    up.kill('SIGKILL');
    await ended;
    db.exec('ROLLBACK');
    await until('it serves', async () => (await project.caisson('status')).code === 0);
    const { pid, log } = await readStatus(project);
    onTestFinished(() => endProcess(pid));
    expect([log, listLogs()]).toEqual([join(runtime, 'daemon.log'), ['daemon.log']]);
  });

  it('that does not answer is asked by a signal to leave before it is killed, by up --replace', async () => {
    const project = createProject();
    await project.run('--', 'true');
    const program = `process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('up')`;
    const silent = spawn(process.execPath, ['-e', program]);
    onTestFinished(() => void silent.kill('SIGKILL'));
    await once(silent.stdout, 'data');
    leaveLease(project, readProcess(silent.pid ?? 0));
    const gone = once(silent, 'exit');
    const { code, stdout } = await project.caisson('up', '-d', '--replace', '-o', 'json');
    const { pid } = JSON.parse(stdout) as DaemonStatus;
    onTestFinished(() => endProcess(pid));
    expect([code, await gone]).toEqual([0, [7, null]]);
  });

  it('that does not answer and has the pid of another process here is not ended by a signal', async () => {
    const project = createProject();
    await project.run('--', 'true');
    const other = spawn('sleep', ['600']);
    onTestFinished(() => void other.kill('SIGKILL'));
    const hosts = join(project.root, '.caisson/runtime/hosts');
    mkdirSync(hosts, { recursive: true });
    const host = createServer((connection) => connection.destroy()).listen(`${hosts}/host_silent.sock`);
    onTestFinished(() => void host.close());
    leaveLease(project, { pid: other.pid ?? 0, startTime: '1' });
    for (const args of [['up', '-d', '--replace'], ['up', '-d'], ['down'], ['status']]) {
      const { code, stdout, stderr } = await project.caisson(...args);
      expect([code, `${stdout}${stderr}`]).toEqual([
        1,
        expect.stringContaining('end it where it was started'),
      ]);
    }
    expect(isGone(other.pid ?? 0)).toBe(false);
  });

  it('whose process cannot be seen is waited for by down, and replaced', async () => {
    const project = createProject();
    await project.trust();
    const isUp = async (): Promise<boolean> => (await project.caisson('status')).code === 0;
    const hidden = startHidden(project);
    await until('it serves', isUp);
    const { stdout } = await project.caisson('run', '--sandbox', 'none', '--detach', '--', 'sleep', '2');
    expect(await project.caisson('down')).toMatchObject({ code: 0 });
    expect((await show(project, stdout.trim())).status).toBe('done');
    expect(await hidden).toBe(0);
    const second = startHidden(project);
    await until('it serves', isUp);
    const { pid } = await serve(project, '--replace');
    expect([await second, (await readStatus(project)).pid]).toEqual([0, pid]);
  });

  it('goes on when the version that would replace it could not read its ledger', async () => {
    const { project, pid } = await serve();
    const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
    onTestFinished(() => db.close());
    const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
    db.exec(`PRAGMA user_version = ${version + 1}`);
    const { code, stderr } = await project.caisson('up', '-d', '--replace');
    expect([code, stderr]).toEqual([1, expect.stringContaining(`has schema version ${version + 1}`)]);
    expect(isGone(pid)).toBe(false);
  });

  it('that cannot start says why', async () => {
    const project = createProject({ config: 'workspace: { setup: "true" }\n', trusts: false });
    const asked = await project.caisson('up', '-d');
    expect([asked.code, asked.stderr]).toEqual([4, expect.stringContaining('workspace.setup')]);
    project.write('caisson.yaml', 'nonsense: 1\n');
    const broken = await project.caisson('up', '-d');
    expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('nonsense')]);
  });

  it('has a unit that systemd accepts, and that starts this program in this project', async () => {
    const project = createProject();
    const { code, stdout, stderr } = await project.caisson('up', '--print-unit');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^WorkingDirectory=${project.root}$`, 'm'));
    expect(stdout).toMatch(new RegExp(`^ExecStart=.*${BIN}.* up\\b`, 'm'));
    expect((await project.caisson('status')).code).toBe(1); // nothing was started
    const file = join(project.root, '..', 'caisson-test.service');
    writeFileSync(file, stdout);
    if (existsSync(SYSTEMD))
      execFileSync(SYSTEMD, ['verify', '--user', file], { env: verifyEnvironment(project) });
    expect(await project.caisson('up', '--print-unit', '-d')).toMatchObject({ code: 2 });
  });

  it('answers what it cannot do with a problem, as any program on its socket reads it', async () => {
    const { project } = await serve();
    const unknown = await ask(project, 'GET', '/v1/runs/run_none');
    expect(unknown).toEqual({
      status: 404,
      type: 'application/problem+json',
      body: {
        ...{
          type: 'about:blank',
          title: 'RUN_NOT_FOUND',
          status: 404,
          code: 'RUN_NOT_FOUND',
          retryable: false,
        },
        message: expect.stringContaining('run_none') as string,
        remedy: 'caisson runs lists the runs of this project.',
        details: {},
      },
    });
    for (const [method, path, body, status] of [
      ['GET', '/v1/nothing', '', 404],
      ['PUT', '/v1/status', '', 404],
      ['GET', '/v1/face', '', 404],
      ['POST', '/v1/face', '{"port":-1}', 400],
      ['POST', '/v1/stop', 'not JSON', 400],
      ['POST', '/v1/stop', '{"drainMs":8640000000000000}', 400],
      ['POST', '/v1/runs', 'not JSON', 400],
      ['POST', '/v1/runs', '[]', 400],
      ['POST', '/v1/runs', '{"nonsense":1}', 400],
    ] as const)
      expect(await ask(project, method, path, body)).toMatchObject({
        status,
        type: 'application/problem+json',
        body: { status, code: 'USAGE', message: expect.any(String) as string },
      });
  });

  it('refuses to drain without an end, and goes on', async () => {
    const { project } = await serve();
    const { code, stderr } = await project.caisson('down', '--drain', '100000000d');
    expect([code, stderr]).toEqual([2, expect.stringContaining('--drain 100000000d is longer than 30 days')]);
    expect((await readStatus(project)).phase).toBe('serving');
    expect((await project.caisson('down', '--now')).code).toBe(0);
  });

  it('makes its socket again when it is removed, or its folder', async () => {
    const { project, pid } = await serve();
    unlinkSync(join(project.root, '.caisson/runtime/daemon.sock'));
    await until('it answers again', async () => (await project.caisson('status')).code === 0);
    expect((await readStatus(project)).pid).toBe(pid);
    const runtime = join(project.root, '.caisson/runtime');
    renameSync(runtime, `${runtime}-away`);
    await until('it answers again', async () => (await project.caisson('status')).code === 0, 30_000);
    expect((await readStatus(project)).pid).toBe(pid);
  });

  it('whose folder of sockets was moved keeps its runs, for every other process too', async () => {
    const { project, pid } = await serve(createProject({ config: 'limits: { concurrency: 1 }\n' }));
    const { runId: working } = await startWaiting(project);
    const queued = (await project.caisson('run', '--detach', '--', 'true')).stdout.trim();
    const inProcess = async (): Promise<unknown[]> => {
      const { stdout } = await project.caisson('runs', '--no-daemon', '-o', 'json');
      const rows = JSON.parse(stdout) as { runId: string; status: string }[];
      return [working, queued].map((run) => rows.find(({ runId }) => runId === run)?.status);
    };
    await until('it waits', async () => (await inProcess())[1] === 'queued');
    const hosts = join(project.root, '.caisson/runtime/hosts');
    process.kill(pid, 'SIGSTOP'); // it cannot notice it before the others look
    renameSync(hosts, `${hosts}-away`);
    expect(await inProcess()).toEqual(['running', 'queued']);
    process.kill(pid, 'SIGCONT');
    await until('it listens again', () => existsSync(hosts), 30_000);
    // Ordered by another process, so that its host can be reached again, too.
    expect(await project.caisson('cancel', '--no-daemon', working)).toMatchObject({ code: 0 });
    const statusOf = async (run: string): Promise<string> => (await show(project, run)).status;
    await until('it is cancelled', async () => (await statusOf(working)) === 'cancelled', 30_000);
    await until('the next one is done', async () => (await statusOf(queued)) === 'done', 30_000);
  });

  it('reports what has changed in the configuration, what only a new one uses, and to systemd what it does', async () => {
    const project = createProject({ config: 'limits: { timeout: 20m }\n' });
    const address = join(project.root, '../notify');
    const notices = await receiveNotices(address);
    Object.assign(project.env, { NOTIFY_SOCKET: address, WATCHDOG_USEC: '2000000' });
    await serve(project);
    await until('it says that it is alive', () => notices().includes('WATCHDOG=1'), 30_000);
    expect(notices()[0]).toBe('READY=1');
    expect((await project.caisson('reload')).stdout).toBe('Nothing has changed.\n');
    project.write('caisson.yaml', 'limits: { timeout: 10m }\nbudget: { perDayUsd: 3 }\n');
    const { stdout } = await project.caisson('reload', '-o', 'json');
    const report = JSON.parse(stdout) as { changes: { key: string }[]; needsRestart: string[] };
    expect(report.changes.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['limits.timeout', 'budget.perDayUsd']),
    );
    expect(report.needsRestart).toEqual(['budget.perDayUsd']);
    expect((await project.caisson('reload')).stdout).toBe(
      'Nothing has changed.\nThe daemon goes on with its old values of: budget.perDayUsd.\n' +
        'To use all of it: caisson up -d --replace; running agents go on.\n',
    );
    project.write('caisson.yaml', 'limits: { timeout: soon }\n');
    expect(await project.caisson('reload')).toMatchObject({ code: 2 });
    expect((await project.caisson('status')).code).toBe(0);
    expect(await project.caisson('down')).toMatchObject({ code: 0 });
    const states = notices().filter((notice) => notice !== 'WATCHDOG=1');
    const reloads = [1, 2, 3, 4].flatMap(() => [
      expect.stringMatching(/^RELOADING=1\|MONOTONIC_USEC=\d+$/),
      'READY=1',
    ]);
    expect(states).toEqual(['READY=1', ...reloads, 'STOPPING=1']); // once it drains no more
  });
});

describe('the end of a daemon', { timeout: LIMIT_MS }, () => {
  it('waits for the run that works, names it, and accepts nothing meanwhile', async () => {
    const project = createProject();
    const address = join(project.root, '../notify');
    const notices = await receiveNotices(address);
    project.env['NOTIFY_SOCKET'] = address;
    const { pid, status } = await serve(project);
    const line = 'echo up; until test -e go; do sleep 0.1; done; echo finished';
    const { stdout } = await project.caisson(
      'run',
      '--detach',
      '--workspace',
      'in-place',
      '--',
      'sh',
      '-c',
      line,
    );
    const runId = stdout.trim();
    await until('it is up', async () => (await project.caisson('logs', runId, '--stdout')).stdout === 'up\n');
    const down = project.start('down');
    const ended = finish(down);
    const askedMs = Date.now();
    await until('it drains', async () => (await status()).phase === 'draining');
    const drainMs = Date.parse((await status()).drainsUntil ?? '') - askedMs;
    expect([drainMs > 9.5 * 60_000, drainMs < 10.5 * 60_000], `${drainMs} ms`).toEqual([true, true]);
    for (const args of [['run', '--', 'true'], ['gc'], ['forget', runId], ['up', '-d']]) {
      const refused = await project.caisson(...args);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is going down')]);
    }
    expect(notices()).toEqual(['READY=1']); // systemd would soon kill one that stops
    project.write('go', '');
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([0, expect.stringContaining(`Waiting for ${runId.slice(-8)}.`)]);
    expect(isGone(pid)).toBe(true);
    expect(await show(project, runId)).toMatchObject({ status: 'done', stdout: 'up\nfinished\n' });
  });

  it('goes on when the one that asked for it leaves, and is quicker on request', async () => {
    const { project, pid, status } = await serve();
    const { runId, mark } = await startWaiting(project);
    const down = project.start('down');
    const ended = finish(down);
    await until('it drains', async () => (await status()).phase === 'draining');
    down.kill('SIGINT');
    const { code, stdout } = await ended;
    expect([code, stdout]).toEqual([130, expect.stringContaining('goes on draining')]);
    expect(await status()).toMatchObject({ phase: 'draining', running: 1, runs: [{ runId }] });
    const stopped = await project.caisson('down', '--now');
    expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringContaining(`${runId} was stopped`)]);
    expect([isGone(pid), pidsWith(mark)]).toEqual([true, []]);
    expect((await show(project, runId)).status).toBe('interrupted');
  });

  it.each([
    ['down --now', (project: Project) => project.caisson('down', '--now')],
    ['down --drain 100ms', (project: Project) => project.caisson('down', '--drain', '100ms')],
    [
      'SIGINT',
      async (project: Project) => {
        const { pid } = await readStatus(project);
        process.kill(pid, 'SIGINT');
        await until('it has ended', () => isGone(pid), 30_000);
      },
    ],
  ])('by %s keeps the work of its runs, and leaves no process', async (_how, end) => {
    const { project, pid } = await serve();
    const { runId, mark } = await startWaiting(project);
    await end(project);
    expect([isGone(pid), pidsWith(mark), pidsWith(`${project.root}/.caisson`)]).toEqual([true, [], []]);
    expect((await show(project, runId)).status).toBe('interrupted');
    expect((await project.caisson('diff', runId)).stdout).toContain('+kept');
  });

  it('that gets a signal while it starts ends once it serves', async () => {
    const project = createProject();
    expect((await project.run('--', 'true')).status).toBe('done');
    const locking = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
    onTestFinished(() => locking.close());
    locking.exec('BEGIN EXCLUSIVE'); // it cannot have started before this ends
    const daemon = project.start('up');
    const ended = finish(daemon);
    // Bit 0 is SIGHUP, which Node itself leaves alone.
    const caught = (): RegExpExecArray | null =>
      /^SigCgt:\s*[0-9a-f]*[13579bdf]$/m.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'));
    await until('it listens for signals', caught, 60_000);
    daemon.kill('SIGINT');
    locking.exec('COMMIT');
    const { code, stdout, stderr } = await ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Stopping; the work of its runs is kept. A second signal forces.');
    expect(stdout).toMatch(/ Ended\.\n$/);
    expect((await project.caisson('status')).code).toBe(1);
  });

  it('is forced by a second signal', async () => {
    const project = createProject({ config: 'limits: { grace: 10m }\n' });
    const { pid } = await serve(project);
    const mark = `sleep 3${process.hrtime.bigint()}`;
    const line = `trap "" TERM; echo up; ${mark}; ${mark}`;
    const { stdout } = await project.caisson('run', '--detach', '--', 'sh', '-c', line);
    await until(
      'it is up',
      async () => (await project.caisson('logs', stdout.trim(), '--stdout')).stdout === 'up\n',
    );
    process.kill(pid, 'SIGINT');
    await until('it stops', () => readLog(project).includes('Stopping'));
    const down = project.start('down', '--now');
    const left = finish(down);
    down.stderr?.once('data', () => down.kill('SIGINT')); // it names what it waits for
    expect((await left).stdout).toMatch(/^The daemon goes on stopping its runs\./);
    const saidMs = performance.now();
    await until('the next one is another one', () => performance.now() - saidMs > 300);
    process.kill(pid, 'SIGTERM');
    await until('it has ended', () => isGone(pid), 30_000);
    expect(readLog(project)).toContain('Forcing.');
    expect(pidsWith(mark)).toEqual([]);
    expect((await show(project, stdout.trim())).status).toBe('interrupted');
  });
});

it('an idle daemon is small and seldom wakes up', { timeout: LIMIT_MS }, async () => {
  const { pid } = await serve();
  const startedMs = performance.now();
  await until('what belongs to its start is over', () => performance.now() - startedMs > 5000);
  // At most once a second.
  expect(countWakeUps(pid, 10)).toBeLessThanOrEqual(10);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  expect(Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]) / 1024).toBeLessThan(100);
});

/** How often a thread of the process left its event loop's wait: a wait that was only a look (0 ms) is none. */
function countWakeUps(pid: number, seconds: number): number {
  const words = ['strace', '-f', '-qq', '-e', 'trace=epoll_wait,epoll_pwait', '-p', String(pid)];
  const { stderr } = spawnSync('timeout', [`${seconds}s`, ...words], { encoding: 'utf8' });
  const waits = [...stderr.matchAll(/\d+, (?<waitMs>-?\d+)(?:, NULL, \d+)?\) = \d+/g)];
  // Without any the trace itself failed: a daemon looks after its socket and its queue.
  expect(waits.length, stderr).toBeGreaterThan(0);
  return waits.filter(({ groups }) => groups?.['waitMs'] !== '0').length;
}
