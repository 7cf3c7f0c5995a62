/** Callers of one daemon: each has its own variables, which are never written down, and each may go without it. */
import { createHash, randomBytes } from 'node:crypto';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readProcess } from '@caisson/ground';
import type { DaemonStatus, DispatchResult } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  isGone,
  killDaemon,
  openedLedger,
  serve,
  show,
  untilAdopted,
  untilStatus,
} from '../faults/killed-daemons.ts';
import { BIN, createProject, finish, ROOT, until, type CliRun, type Project } from './project.ts';

const LIMIT_MS = 120_000;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

interface Caller {
  readonly name: string;
  readonly env: Record<string, string>;
  /** What may be nowhere on disk but in the caller's own files. */
  readonly canaries: readonly string[];
}

/** A process with its own PATH, HOME and variables. Where the user's settings are does not follow HOME here. */
function createCaller(project: Project, name: string): Caller {
  const canary = (of: string): string => `${of}-${randomBytes(9).toString('hex')}`;
  const [base, users] = [join(project.root, '..', name), project.env['HOME'] ?? ''];
  const [bin, home] = [join(base, 'bin'), join(base, 'home')];
  for (const folder of [bin, home]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(bin, 'which-caller'), `#!/bin/sh\necho ${name}\n`, { mode: 0o755 });
  const [unused, path, passed, hidden, token] = ['unused', 'path', 'passed', 'hidden', 'token'].map(canary);
  writeFileSync(join(home, 'token'), token ?? '', { mode: 0o600 });
  const env = {
    ...project.env,
    PATH: `${bin}:/no/such/${path}:${project.env['PATH']}`,
    HOME: home,
    XDG_CONFIG_HOME: join(users, '.config'),
    XDG_STATE_HOME: join(users, '.local/state'),
    XDG_DATA_HOME: join(users, '.local/share'),
    UNUSED: unused ?? '',
    PASSED: passed ?? '',
    HIDDEN: hidden ?? '',
  };
  return { name, env, canaries: [unused, path, passed, hidden, token].map((text) => text ?? '') };
}

function start(project: Project, env: Record<string, string>, words: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [BIN, ...words], { cwd: project.root, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const call = (project: Project, env: Record<string, string>, ...words: string[]): Promise<CliRun> => {
  const child = start(project, env, words);
  child.stdin?.end();
  return finish(child);
};

/** Files of the state folder and of the user's folders that have the text. */
function findOnDisk({ root, env }: Project, text: string): string[] {
  const places = [join(root, '.caisson'), env['HOME'] ?? '', env['XDG_CACHE_HOME'] ?? ''];
  const found = execFileSync('sh', ['-c', `grep -rlaF -- "$0" "$@" 2>/dev/null || true`, text, ...places]);
  return found.toString().split('\n').filter(Boolean);
}

function hostOf(project: Project, runId: string): string | undefined {
  return openedLedger(join(project.root, '.caisson')).run(runId)?.host;
}

describe('the variables of a caller', { timeout: LIMIT_MS }, () => {
  it('count for its own run, and are never on disk', async () => {
    const project = createProject();
    await serve(project);
    const callers = ['first', 'second'].map((name) => createCaller(project, name));
    const digest = (name: string): string => `printf %s "$${name}" | sha256sum | cut -c1-64`;
    const script = `which-caller; ${['PASSED', 'LITERAL', 'HIDDEN', 'FROM_HOME'].map(digest).join('; ')}; echo ready; read line`;
    const literal = `literal-${randomBytes(9).toString('hex')}`;
    const options = [
      '--env',
      'PASSED',
      '--env',
      `LITERAL=${literal}`,
      '--secret',
      'HIDDEN=env:HIDDEN',
      '--secret',
      'FROM_HOME=file:~/token',
    ];
    const running = callers.map((caller) => {
      const child = start(project, caller.env, ['run', ...options, '--', 'sh', '-c', script]);
      const shown = { text: '' };
      child.stdout?.on('data', (chunk: Buffer) => (shown.text += chunk.toString()));
      return { caller, child, shown, ended: finish(child) };
    });
    for (const { shown } of running) await until('it is ready', () => shown.text.includes('ready'), 60_000);
    const look = (): string[] =>
      [literal, ...callers.flatMap(({ canaries }) => canaries)].flatMap((text) => findOnDisk(project, text));
    const during = look();
    for (const { child } of running) child.stdin?.end('go\n');
    for (const { caller, ended } of running) {
      const { code, stdout, stderr } = await ended;
      const [, , passed, hidden, token] = caller.canaries.map(sha256);
      expect([code, stdout, stderr]).toEqual([
        0,
        [caller.name, passed, sha256(literal), hidden, token, 'ready', ''].join('\n'),
        expect.not.stringContaining('goes on without it'),
      ]);
    }
    expect([during, look()]).toEqual([[], []]);
    const log = readFileSync(join(project.root, '.caisson/runtime/daemon.log'), 'utf8');
    expect(log.match(/ started \(command\)/g)).toHaveLength(2);
  });

  it('are missed by a retry of a caller that lacks them, which fails as fetch-failed', async () => {
    const project = createProject();
    await serve(project);
    const given = ['--env', 'PASSED', '--env', 'LITERAL=its-value', '--secret', 'TOKEN=env:CALLERS_TOKEN'];
    const test = 'test "$PASSED $LITERAL" = "passed-on its-value" && test -n "$TOKEN"';
    const env = { ...project.env, PASSED: 'passed-on', CALLERS_TOKEN: 'token-of-this-caller' };
    const first = await call(project, env, 'run', '-o', 'json', ...given, '--', 'sh', '-c', test);
    const { runId, status } = JSON.parse(first.stdout) as DispatchResult;
    expect(status).toBe('done');
    const retry = async (variables: Record<string, string>, ...words: string[]): Promise<DispatchResult> =>
      JSON.parse(
        (await call(project, variables, 'retry', runId, '-o', 'json', ...words)).stdout,
      ) as DispatchResult;
    const { CALLERS_TOKEN: _token, ...lacksToken } = env;
    const { PASSED: _passed, ...lacksPassed } = env;
    const literal = ['--env', 'LITERAL=its-value'];
    for (const [lacking, missing] of [
      [await retry(env), '--env LITERAL='],
      [await retry(lacksPassed, ...literal), 'PASSED is missing'],
      [await retry(lacksToken, ...literal), 'CALLERS_TOKEN is not set'],
    ] as const)
      expect(lacking).toMatchObject({
        status: 'error',
        failure: { reason: 'fetch-failed', detail: expect.stringContaining(missing) as string },
      });
    const again = await retry(env, ...literal);
    expect(again.status).toBe('done');
  });

  it('are gone when its run is adopted: that gets no further attempt, and a retry needs them again', async () => {
    const project = createProject();
    const killed = await serve(project);
    const env = { ...project.env, CALLERS_TOKEN: 'token-of-this-caller' };
    const options = ['--detach', '--retries', '2', '--secret', 'TOKEN=env:CALLERS_TOKEN'];
    const script = 'test -n "$TOKEN" && echo up; sleep 600';
    const { stdout } = await call(project, env, 'run', ...options, '--', 'sh', '-c', script);
    const runId = stdout.trim();
    await until('it is up', async () => (await project.caisson('logs', runId, '--stdout')).stdout === 'up\n');
    await killDaemon(killed);
    await serve(project);
    await untilAdopted(project, runId);
    const ledger = openedLedger(join(project.root, '.caisson'));
    const { handle } = ledger.read({ runId, types: ['attempt.launched'] })[0]?.data ?? {};
    process.kill((handle as { pid: number }).pid, 'SIGKILL');
    // Claimed first and taken over a moment later: a worker that dies in between was seen by nobody, and its run is lost.
    const ended = (): unknown => ledger.run(runId)?.ending;
    await until('it has ended', ended, 60_000);
    expect(['crashed', 'lost']).toContain(ledger.run(runId)?.failure?.reason);
    expect(ledger.attempts(runId)).toHaveLength(1);
    const lacking = await call(project, project.env, 'retry', runId, '-o', 'json');
    expect(JSON.parse(lacking.stdout)).toMatchObject({ failure: { reason: 'fetch-failed' } });
  });

  it('that it no longer has when its run begins end that as fetch-failed', async () => {
    const project = createProject({ config: 'limits: { concurrency: 1 }\n' });
    await serve(project);
    const caller = createCaller(project, 'first');
    const begin = async (...words: string[]): Promise<string> =>
      (await call(project, caller.env, 'run', '--detach', ...words)).stdout.trim();
    const first = await begin('--', 'sh', '-c', 'echo up; sleep 600');
    await until('it is up', async () => (await project.caisson('logs', first, '--stdout')).stdout === 'up\n');
    const waiting = await begin('--retries', '0', '--secret', 'TOKEN=file:~/token', '--', 'true');
    rmSync(join(caller.env['HOME'] ?? '', 'token'));
    expect(await project.caisson('cancel', first)).toMatchObject({ code: 0 });
    await untilStatus(project, waiting, 'error');
    expect((await show(project, waiting)).failure).toMatchObject({
      reason: 'fetch-failed',
      detail: expect.stringContaining('~/token') as string,
    });
  });
});

describe('a command that goes without the daemon', { timeout: LIMIT_MS }, () => {
  it.each<[string, string[], Record<string, string>]>([
    ['--no-daemon', ['--no-daemon'], {}],
    ['CAISSON_NO_DAEMON=1', [], { CAISSON_NO_DAEMON: '1' }],
  ])('by %s is the host of its run', async (_how, options, env) => {
    const project = createProject();
    await serve(project);
    const through = await project.run('--', 'true');
    const { stdout, stderr } = await call(
      project,
      { ...project.env, ...env },
      'run',
      ...options,
      '-o',
      'json',
      '--',
      'true',
    );
    const without = JSON.parse(stdout) as DispatchResult;
    expect([without.status, stderr]).toEqual(['done', '']);
    const log = readFileSync(join(project.root, '.caisson/runtime/daemon.log'), 'utf8');
    expect([through, without].map(({ runId }) => log.includes(`${runId} started`))).toEqual([true, false]);
    expect(hostOf(project, without.runId)).not.toBe(hostOf(project, through.runId));
  });

  it('because that has another version says so, and leaves the runs of that daemon alone', async () => {
    const other = buildOtherVersion('10.20.30');
    const project = createProject({ bin: other });
    project.env['XDG_CACHE_HOME'] = join(project.env['HOME'] ?? '', 'cache'); // compiled code of one build is for one version
    await serve(project);
    expect(JSON.parse((await project.caisson('status', '-o', 'json')).stdout) as DaemonStatus).toMatchObject({
      version: '10.20.30',
    });
    const waiting = (
      await project.caisson('run', '--detach', '--', 'sh', '-c', 'echo up; sleep 600')
    ).stdout.trim();
    await until(
      'it is up',
      async () => (await project.caisson('logs', waiting, '--stdout')).stdout === 'up\n',
    );
    const ran = await call(project, project.env, 'run', '-o', 'json', '--', 'true');
    const { runId, status } = JSON.parse(ran.stdout) as DispatchResult;
    expect([ran.code, status, ran.stderr]).toEqual([
      0,
      'done',
      expect.stringMatching(
        /^note: the daemon has version 10\.20\.30, and this is \S+ \(caisson up -d --replace\); this command goes on without it\.\n$/,
      ),
    ]);
    expect(hostOf(project, runId)).not.toBe(hostOf(project, waiting));
    expect((await show(project, waiting)).status).toBe('running');
    // This version takes the run over while its agent works.
    const replaced = await call(project, project.env, 'up', '-d', '--replace');
    expect([replaced.code, replaced.stderr]).toEqual([
      0,
      expect.stringMatching(
        /^note: ended pid \d+, version 10\.20\.30, .*; its running agent goes on, and is adopted\n$/,
      ),
    ]);
    await untilAdopted(project, waiting);
    const { version } = JSON.parse(
      (await call(project, project.env, 'status', '-o', 'json')).stdout,
    ) as DaemonStatus;
    expect(version).not.toBe('10.20.30');
    expect(await call(project, project.env, 'cancel', waiting)).toMatchObject({ code: 0 });
    await untilStatus(project, waiting, 'cancelled');
    expect(await call(project, project.env, 'down', '--leave')).toMatchObject({
      code: 0,
      stdout: 'The daemon has ended.\n',
    });
  });

  it('because a later version answers in its own form says so, and replaces nothing that it could not go on with', async () => {
    const project = createProject();
    await project.run('--', 'true');
    const runtime = join(project.root, '.caisson/runtime');
    const answer = join(project.root, '../answer.json');
    const script = `require('node:http').createServer((_, out) => out.end(require('node:fs').readFileSync(process.argv[1]))).listen(process.argv[2], () => console.log('up'))`;
    const later = spawn(process.execPath, ['-e', script, answer, join(runtime, 'daemon.sock')]);
    onTestFinished(() => void later.kill('SIGKILL'));
    await once(later.stdout, 'data');
    const identity = {
      ...{ pid: later.pid, startTime: readProcess(later.pid ?? 0)?.startTime, hostId: 'host_later' },
      bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      ...{ version: '9.9.9', startedAt: '2026-01-01T00:00:00.000Z' },
    };
    const state = {
      projectRoot: project.root,
      stateDir: join(runtime, '..'),
      socket: '',
      log: null,
      runs: [],
    };
    const status = { ...identity, ...state, uptimeMs: 0, running: 1, queued: 0, adoptionVersion: 1 };
    const refused = async (answered: object, ...words: string[]): Promise<string> => {
      writeFileSync(answer, JSON.stringify(answered));
      const { code, stdout, stderr } = await call(project, project.env, ...words);
      expect([code === 0, isGone(later.pid ?? 0)]).toEqual([false, false]);
      return stdout + stderr;
    };
    const unknown = { ...status, phase: 'dreaming' };
    expect(await refused(unknown, 'status')).toContain('has version 9.9.9');
    const { code, stderr: noted } = await call(project, project.env, 'runs');
    expect([code, noted]).toEqual([
      0,
      expect.stringMatching(
        /^note: the daemon has another version, .* \(caisson up -d --replace\); this command goes on without it\.\n$/,
      ),
    ]);
    for (const words of [['down'], ['up', '-d']])
      expect(await refused(unknown, ...words)).toMatch(
        /^error: the daemon of this project has another version .*does not understand\. Replace it: .*--replace/,
      );
    const serving = { ...status, phase: 'serving' };
    for (const answered of [serving, unknown])
      expect(await refused({ ...answered, adoptionVersion: 2 }, 'up', '-d', '--replace')).toContain(
        'their workers speak version 2 of adoption',
      );
    const own = join(project.env['HOME'] ?? '', '.config/caisson');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'config.yaml'), 'api: { listen: "192.0.2.7:8443" }\n');
    expect(await refused(serving, 'up', '-d', '--replace')).toContain('there is no certificate');
    rmSync(join(own, 'config.yaml'));
    writeFileSync(join(project.root, 'caisson.yaml'), 'limits: { concurrency: many }\n');
    expect(await refused(serving, 'up', '-d', '--replace')).toContain('limits.concurrency');
    rmSync(join(project.root, 'caisson.yaml'));

    // It writes the ledger: a form that it does not know would be changed under it.
    const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
    onTestFinished(() => void db.close());
    const form = Number(db.prepare('PRAGMA user_version').get()?.['user_version']) - 1;
    db.exec(`PRAGMA user_version = ${form}`);
    db.prepare('INSERT OR REPLACE INTO kv VALUES (?, ?, ?)').run('daemon', 'lease', JSON.stringify(identity));
    expect(await refused(serving, 'runs', '--no-daemon')).toMatch(
      /version 9\.9\.9.*it was not changed\. Replace the daemon: caisson up -d --replace/,
    );
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: form });
    later.kill('SIGSTOP');
    expect(await refused(serving, 'down')).toMatch(/is stopped .*kill -CONT .*--replace/);
    const gone = once(later, 'exit');
    // The next one cannot open this ledger: its rows are of the form of this version already.
    const { stderr } = await call(project, project.env, 'up', '-d', '--replace');
    expect(stderr).toContain(`note: ended pid ${later.pid}`);
    expect(await gone).toEqual([null, 'SIGKILL']);
  });
});

/** The built program, as another release of it would be. */
function buildOtherVersion(version: string): string {
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const copy = mkdtempSync(join(ROOT, '.cache', 'other-version-')); // it finds the packages of the clone from there
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(join(ROOT, 'packages/cli'), copy, { recursive: true });
  const { version: own } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8')) as {
    version: string;
  };
  const dist = join(copy, 'dist');
  const named = new RegExp(`(\\bversion: ?["'\`])${own.replaceAll('.', '\\.')}(?=["'\`])`, 'g');
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (!/\.[cm]js$/.test(name)) continue;
    const text = readFileSync(join(dist, name), 'utf8');
    if (named.test(text)) writeFileSync(join(dist, name), text.replaceAll(named, `$1${version}`));
  }
  return join(copy, 'bin/caisson.js');
}
