/**
 * A write that fails while a run is settled: the host waits and tries again, or dies and recovery does it. No ending hides
 * work, and no durable event is lost. The ledger is locked by a real transaction of another process, writes fail by strace.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLedger } from '../../packages/engine/src/ledger/index.ts';
import { lockLedger } from '../../packages/engine/src/ledger/fixtures/lock-ledger.ts';
import { createProject, finish, until, type CliRun, type Project } from '../e2e/project.ts';
import { listFolder } from './moments.ts';

const WORK = 'touch begun; while [ ! -e go ]; do sleep 0.02; done; rm begun go; echo precious > work.txt';
/** Signals that come closer together than this are one. */
const SAME_SIGNAL_MS = 300;
const WAITS = 'cannot be settled yet';

interface HeldRun {
  readonly runId: string;
  readonly host: number;
  readonly ended: Promise<CliRun>;
  said(): string;
  /** The agent does its work and ends. */
  releaseRun(): void;
}

function createImpatientProject(): Project {
  return createProject({ env: { CAISSON_LEDGER_PATIENCE_MS: '100' } });
}

/** A run whose agent has begun and waits for our word. */
async function startHeld(project: Project, ...options: string[]): Promise<HeldRun> {
  const child = project.start('run', ...options, '--', 'sh', '-c', WORK);
  const ended = finish(child);
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  const worktrees = join(project.root, '.caisson/worktrees');
  const name = await until('the agent', () =>
    listFolder(worktrees).find((folder) => existsSync(join(worktrees, folder, 'files/begun'))),
  );
  return {
    runId: name.replace(/\.\d+$/, ''),
    host: child.pid ?? 0,
    ended,
    said: () => said,
    releaseRun: () => writeFileSync(join(worktrees, name, 'files/go'), ''),
  };
}

/** Another process, this one, is in the middle of a write until the answer is called. */
function lock(project: Project): () => void {
  const unlock = lockLedger(join(project.root, '.caisson/ledger.db'));
  onTestFinished(unlock);
  return unlock;
}

/** The run is over and waits for the ledger. */
async function untilWaits(run: HeldRun): Promise<void> {
  run.releaseRun();
  await until('the host says what it waits for', () => run.said().includes(WAITS), 20_000);
}

async function expectWhole(project: Project, runId: string): Promise<void> {
  const events = await project.events(runId);
  const types = events.map((event) => event.type);
  for (const once of ['runtime.adapter.ran', 'dispatch.finished', 'evidence.sealed'])
    expect(
      types.filter((type) => type === once),
      once,
    ).toHaveLength(1);
  expect(types).toContain('capture.done');
  expect(types.indexOf('dispatch.finished')).toBeGreaterThan(types.lastIndexOf('capture.done'));
  expect((await project.caisson('diff', runId)).stdout).toContain('+precious');
  expect((await project.caisson('verify', runId)).code).toBe(0);
  expect(listFolder(join(project.root, '.caisson/worktrees'))).toEqual([]);
  const ledger = openLedger(join(project.root, '.caisson/ledger.db'));
  expect(ledger.leases.listSlots()).toEqual([]);
  await ledger.close();
}

describe('a ledger that is locked when a run ends', { timeout: 60_000 }, () => {
  it('is waited for, with the slot kept, and then has the whole run', async () => {
    const project = createImpatientProject();
    const run = await startHeld(project);
    const unlock = lock(project);
    await untilWaits(run);
    const listed = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { status: string }[];
    expect(listed).toMatchObject([{ status: 'running' }]);
    unlock();
    expect((await run.ended).code).toBe(0);
    await expectWhole(project, run.runId);
  });

  it('has the whole run after the next command, when the host was killed meanwhile', async () => {
    const project = createImpatientProject();
    const run = await startHeld(project);
    const unlock = lock(project);
    await untilWaits(run);
    process.kill(run.host, 'SIGKILL');
    await run.ended;
    unlock();
    expect((await project.caisson('runs')).code).toBe(0);
    await expectWhole(project, run.runId);
  });

  it('is left to the next command by a host that is forced to stop', async () => {
    const project = createImpatientProject();
    const run = await startHeld(project, '-o', 'json');
    const unlock = lock(project);
    await untilWaits(run);
    process.kill(run.host, 'SIGINT');
    await until('the first Ctrl-C', () => run.said().includes('Press Ctrl-C again'));
    const receivedMs = performance.now();
    await until('it is a second one', () => performance.now() - receivedMs > SAME_SIGNAL_MS);
    process.kill(run.host, 'SIGINT');
    const { code, stdout } = await run.ended;
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'RUN_UNSETTLED', retryable: true } });
    unlock();
    expect((await project.caisson('runs')).code).toBe(0);
    await expectWhole(project, run.runId);
  });
});

it(
  'writes of the ledger that fail with EIO at the ending are done again, and nothing is hidden',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    const run = await startHeld(project);
    const repair = await failSyncs(run.host);
    await untilWaits(run);
    repair();
    const { code, stderr } = await run.ended;
    expect(code, stderr).toBe(0);
    await expectWhole(project, run.runId);
  },
);

/** Every fdatasync of a host's ledger, which its main thread makes, fails until the answer is called. */
async function failSyncs(pid: number): Promise<() => void> {
  if (!existsSync('/usr/bin/strace')) throw new Error('strace is needed: apt-get install strace');
  const tracer = spawn('/usr/bin/strace', [
    ...['-p', String(pid), '-o', '/dev/null', '-e', 'trace=fsync,fdatasync'],
    ...['-e', 'inject=fdatasync,fsync:error=EIO'],
  ]);
  onTestFinished(() => void tracer.kill('SIGKILL'));
  let said = '';
  tracer.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  await until('strace', () => said.includes('attached'));
  return () => void tracer.kill('SIGTERM');
}

describe('work that is in no patch', { timeout: 60_000 }, () => {
  it('is named by its checkpoint, with a command that gets it', async () => {
    const project = createImpatientProject();
    const run = await startHeld(project);
    const unlock = lock(project);
    await untilWaits(run); // it has its checkpoint
    process.kill(run.host, 'SIGKILL');
    await run.ended;
    for (const folder of ['worktrees', 'runtime/captures', 'runtime/results'])
      rmSync(join(project.root, '.caisson', folder), { recursive: true });
    unlock();
    const ref = `refs/caisson/${run.runId}/1`;
    const get = `git diff --binary ${project.git('rev-parse', 'HEAD^{tree}').trim()} ${ref} | git apply`;
    for (const command of ['diff', 'apply']) {
      const refused = await project.caisson(command, run.runId);
      expect(refused.code).toBe(1);
      expect(refused.stdout).toBe('');
      expect(refused.stderr).toContain(`is in no patch, but in checkpoint ${ref}`);
      expect(refused.stderr).toContain(get);
    }
    expect((await project.caisson('show', run.runId)).stdout).toContain(`the work is in: checkpoint ${ref}`);
    execFileSync('sh', ['-c', get], { cwd: project.root });
    expect(project.git('status', '--short')).toContain('work.txt');
  });

  it('is named by its folder, when the repository is gone', async () => {
    const project = createProject();
    const run = await startHeld(project);
    rmSync(join(project.root, '.git'), { recursive: true });
    run.releaseRun();
    expect((await run.ended).code).toBe(1);
    const refused = await project.caisson('diff', run.runId);
    expect(refused.code).toBe(1);
    const [, folder = ''] = /is in no patch, but in folder (\S+): /.exec(refused.stderr) ?? [];
    expect(execFileSync('cat', [join(folder, 'work.txt')], { encoding: 'utf8' })).toBe('precious\n');
  });

  it('is named by its folder, when the project was moved under the run', async () => {
    const project = createProject();
    const run = await startHeld(project);
    const moved = `${project.root}-moved`;
    renameSync(project.root, moved);
    expect((await run.ended).code).toBe(1);
    const there = createProject({ at: moved, env: project.env });
    const refused = await there.caisson('diff', run.runId);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      `in no patch, but in folder ${moved}/.caisson/worktrees/${run.runId}.1/files`,
    );
  });
});
