/**
 * A disk that is full, read-only or failing: the run ends or is refused with a message that names the file and the
 * remedy, nothing hangs, and the ledger stays readable. Small disks are mounted, so these tests need root.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DispatchResult } from '@caisson/protocol';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { openLedger } from '../../packages/engine/src/ledger/index.ts';
import { createProject, finish, ROOT, until, type CliRun, type Project } from '../e2e/project.ts';
import { childrenOf } from './processes.ts';

const FILLED = 'fill';
/** Signals that come closer together than this are one. */
const SAME_SIGNAL_MS = 300;

/** Mounts a small disk in memory; taken down with the test. */
function mountDisk(project: Project, options: string, context?: TestContext): string {
  if (process.getuid?.() !== 0) context?.skip('only root can mount a small disk');
  const path = join(project.root, '../disk');
  mkdirSync(path);
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', path]));
  return path;
}

function fillDisk(path: string): void {
  for (const size of ['64k', '4k', '1k'])
    execFileSync('sh', [
      '-c',
      `dd if=/dev/zero of=${path}/${FILLED} bs=${size} oflag=append conv=notrunc 2>/dev/null || :`,
    ]);
}

function expectReadable(stateDir: string): void {
  const ledger = openLedger(join(stateDir, 'ledger.db'));
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
  for (const row of ledger.runs()) expect(row.ending).toBeDefined();
  void ledger.close();
}

describe('a disk without room', { timeout: 120_000 }, () => {
  it('refuses to start, names the folder and the remedy, and works again once there is room', async (context) => {
    const project = createProject({ git: false });
    const disk = mountDisk(project, 'size=3m', context);
    fillDisk(disk);
    const state = join(disk, 'state');
    const refused = await project.caisson('run', '--state-dir', state, '--workspace', 'empty', '--', 'true');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^error: .*disk.* cannot be written: ENOSPC.*Free some space/);
    rmSync(join(disk, FILLED));
    const after = await project.run('--state-dir', state, '--workspace', 'empty', '--', 'true');
    expect(after.status).toBe('done');
    expectReadable(state);
  });

  it('gets no half configuration from init', async (context) => {
    const project = createProject({ git: false });
    const disk = mountDisk(project, 'size=64k', context);
    writeFileSync(join(disk, '.env'), 'KEY=1\n'); // which is worth a rule
    fillDisk(disk);
    const child = spawn(process.execPath, [join(ROOT, 'packages/cli/bin/caisson.js'), 'init'], {
      cwd: disk,
      env: project.env,
    });
    const { code, stderr } = await finish(child);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^error: .*caisson\.yaml could not be written: ENOSPC.*Free some space on that disk\.$/m,
    );
    expect(readdirSync(disk).toSorted()).toEqual(['.env', FILLED]);
  });

  it('filled by the agent itself is waited for, and the run ends once there is room', async (context) => {
    const project = createProject({ git: false });
    const disk = mountDisk(project, 'size=3m', context);
    const program = 'dd if=/dev/zero of=big bs=64k; exit 5';
    const child = project.start(
      ...['run', '--state-dir', disk, '--workspace', 'empty', '--retries', '0', '--', 'sh', '-c', program],
    );
    const ended = finish(child);
    await untilWaits(child);
    execFileSync('mount', ['-o', 'remount,size=64m', disk]);
    const full = await ended;
    expect(full.code).toBe(1);
    expect(full.stderr).toMatch(/is full|No space left/);
    expect(full.stderr).not.toMatch(/\n {4}at /);
    const listed = await listRuns(project, ['--state-dir', disk]);
    expect(listed).toMatchObject([{ status: 'error' }]);
    expectReadable(disk);
  });
});

describe('a disk that a run filled itself', { timeout: 120_000 }, () => {
  it('is recorded in the space that the host had set aside: the run ends, and says so', async (context) => {
    const project = createProject();
    const disk = mountDisk(project, 'size=4m', context);
    const filled = `cat /dev/zero >${disk}/${FILLED}; exit 5`;
    const options = ['--state-dir', join(disk, 'state'), '--sandbox', 'none', '--retries', '0'];
    const result = await project.run(...options, '--', 'sh', '-c', filled);
    expect([result.cli.code, result.failure?.detail]).toEqual([1, expect.stringMatching(/disk.* is full/)]);
    expect(existsSync(join(disk, FILLED))).toBe(true);
    expectReadable(join(disk, 'state'));
    expect(readdirSync(join(disk, 'state/runtime/hosts'))).toEqual([]);
  });

  it('with its workspace is named with the remedy, by the run and by gc, also after its host was killed', async (context) => {
    const project = createProject({ git: false });
    const disk = mountDisk(project, 'size=4m', context);
    const state = ['--state-dir', join(disk, 'state')];
    const work = 'head -c 8000000 /dev/urandom >big';
    const host = project.start(
      'run',
      ...state,
      '--workspace',
      'empty',
      '--retries',
      '0',
      '--',
      'sh',
      '-c',
      work,
    );
    let said = '';
    host.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await untilWaits(host);
    const worktree = /\S*worktrees\/run_\w+\.1/.exec(said)?.[0] ?? '';
    expect(said).toMatch(
      /is full: .*Most of what Caisson has there is in \S*worktrees\/run_\w+\.1 \(\d.*m\): remove/,
    );
    host.kill('SIGKILL');
    await finish(host);
    const swept = await project.caisson('gc', ...state);
    expect([swept.code, swept.stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`The disk is full.*MiB  ${worktree}\\n`, 's')),
    ]);
    expect(swept.stderr).toMatch(/could not be settled: .*is full/);
    execFileSync('mount', ['-o', 'remount,size=64m', disk]);
    const [run] = await listRuns(project, state);
    expect(run).toMatchObject({
      status: 'interrupted',
      failure: { reason: 'lost', detail: expect.stringMatching(/waited to settle .*is full/) as string },
    });
    expectReadable(join(disk, 'state'));
  });
});

describe('a disk that earlier runs have filled', { timeout: 120_000 }, () => {
  it('is freed by the command that the waiting run names, and the run ends', async (context) => {
    const project = createProject();
    project.write('.gitignore', 'build\n.caisson\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'ignore');
    const disk = mountDisk(project, 'size=9m', context);
    const state = ['--state-dir', join(disk, 'state')];
    const made = (bytes: number): string[] => ['--', 'sh', '-c', `head -c ${bytes} /dev/urandom >build`];
    expect((await project.run(...state, ...made(4_000_000))).status).toBe('done');
    const host = project.start('run', ...state, '--retries', '0', ...made(20_000_000));
    let said = '';
    host.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const ended = finish(host);
    await untilWaits(host);
    const [, command = ''] = /caisson (gc --older-than 0s) frees up to 3\.8m/.exec(said) ?? [];
    const swept = await project.caisson(...command.split(' '), ...state);
    // Or more: the waiting run may end while the rest is looked through, and what it leaves is as old as asked for.
    expect([swept.code, swept.stdout]).toEqual([0, expect.stringMatching(/freed [3-9]\.\d MiB/)]);
    expect((await ended).stderr).not.toContain('    at ');
    expectReadable(join(disk, 'state'));
  });
});

describe('the disk of the repository, with the state elsewhere', { timeout: 120_000 }, () => {
  const FULL =
    /the disk that holds \S*\/disk\/\.git\S* is full: git .*No space left on device.* Free some space/s;
  const READ_ONLY = /the disk that holds \S*\/disk\/\.git\S* is read-only.* Make it writable again/s;

  it.each([
    { when: 'full', before: fillDisk, says: FULL },
    { when: 'read-only', before: makeReadOnly, says: READ_ONLY },
  ])('$when from the start: the failure says so, names it and the remedy', async ({ before, says }) => {
    const { project, disk, options } = openOnDisk();
    before(disk);
    const result = await project.run(...options, '--', 'true');
    expect([result.cli.code, result.failure?.detail]).toEqual([1, expect.stringMatching(says)]);
  });

  it.each([
    { when: 'full', command: 'head -c 3000000 /dev/urandom >big', fixed: 'size=64m', says: FULL },
    { when: 'read-only', command: 'mount -o remount,ro "$DISK"', fixed: 'rw', says: READ_ONLY },
  ])('$when when the work is taken: wait and failure say so', async ({ command, fixed, says }) => {
    const { project, disk, options } = openOnDisk();
    const child = project.start('run', '-o', 'json', ...options, '--', 'sh', '-c', `echo x >new; ${command}`);
    let reported = '';
    child.stderr?.on('data', (chunk: Buffer) => (reported += chunk.toString()));
    const ended = finish(child);
    await until('it waits for the disk', () => says.test(reported));
    execFileSync('mount', ['-o', `remount,${fixed}`, disk]);
    const { failure } = JSON.parse((await ended).stdout) as DispatchResult;
    expect(failure?.detail).toMatch(says);
    expect(reported + failure?.detail).not.toContain('ignored');
  });
});

/** What hosts had set aside, as where a host found no room to do so. */
function dropReserves(stateDir: string): void {
  const hosts = join(stateDir, 'runtime/hosts');
  for (const name of readdirSync(hosts).filter((each) => each.includes('.reserve-')))
    rmSync(join(hosts, name));
}

/** A repository on a small disk, and the state of its runs on another one. */
function openOnDisk(): { project: Project; disk: string; options: string[] } {
  const outside = createProject({ git: false });
  const disk = mountDisk(outside, 'size=2m');
  const project = createProject({ at: disk, git: true });
  project.write('.gitignore', '.caisson\n');
  const state = join(outside.root, 'state');
  const options = ['--state-dir', state, '--sandbox', 'none', '--env', `DISK=${disk}`, '--retries', '0'];
  return { project, disk, options };
}

function makeReadOnly(disk: string): void {
  execFileSync('mount', ['-o', 'remount,ro', disk]);
}

describe('a disk that is full while a run of a dead host is not settled', { timeout: 120_000 }, () => {
  it('can still be looked at, and is settled once there is room', async (context) => {
    const project = createProject({ git: false });
    const disk = mountDisk(project, 'size=4m', context);
    const state = ['--state-dir', disk];
    const done = await project.run(...state, '--workspace', 'empty', '--', 'echo', 'hello');
    const host = project.start('run', ...state, '--workspace', 'empty', '--', 'sleep', '300');
    await until('the run', async () =>
      (await listRuns(project, state)).some((row) => row.status === 'running'),
    );
    host.kill('SIGKILL');
    await finish(host);
    dropReserves(disk);
    fillDisk(disk);

    const listed = await project.caisson('runs', ...state, '-o', 'json');
    expect(listed.code, listed.stderr).toBe(0);
    expect(listed.stderr).toMatch(/^warning: what a dead process left could not be settled: .*full/);
    expect((JSON.parse(listed.stdout) as { status: string }[]).map((row) => row.status)).toEqual([
      'running',
      'done',
    ]);
    for (const args of [
      ['show', done.runId],
      ['logs', done.runId],
      ['logs', done.runId, '--stdout'],
      ['diff', done.runId],
      ['verify', done.runId],
      ['questions'],
      ['approvals'],
      ['budget'],
      ['gc'],
    ]) {
      const read = await project.caisson(...args, ...state);
      expect(read.code, `${args.join(' ')}: ${read.stderr}`).toBe(0);
    }
    const refused = await project.caisson('run', ...state, '--workspace', 'empty', '--', 'true');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^error: .*full.*Free some space/s);

    rmSync(join(disk, FILLED));
    expect((await listRuns(project, state)).map((row) => row.status)).toEqual(['interrupted', 'done']);
    expectReadable(disk);
  });
});

/** The run is over and waits until its ending can be recorded. */
function untilWaits(child: ChildProcess): Promise<boolean> {
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  return until('it waits', () => said.includes('cannot be settled yet'), 60_000);
}

async function listRuns(project: Project, state: readonly string[]): Promise<{ status: string }[]> {
  return JSON.parse((await project.caisson('runs', ...state, '-o', 'json')).stdout) as { status: string }[];
}

describe('a state folder that cannot be written', { timeout: 120_000 }, () => {
  it('on a read-only disk is refused with its name and the remedy', async (context) => {
    const project = createProject({ git: false });
    const disk = mountDisk(project, 'ro,size=1m', context);
    const refused = await project.caisson('run', '--state-dir', disk, '--', 'true');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^error: the state folder .*disk cannot be written: EROFS.*--state-dir/);
  });

  it('that is a file, or lies below one, is refused with its name and the remedy', async () => {
    const project = createProject({ git: false });
    const file = join(project.root, '../file');
    writeFileSync(file, 'not a folder');
    for (const path of [file, join(file, 'below')]) {
      const refused = await project.caisson('run', '--state-dir', path, '--', 'true');
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/^error: the state folder .*file.* cannot be written: .*--state-dir/);
    }
  });
});

describe('an fsync that fails', { timeout: 120_000 }, () => {
  it.each([1, 5, 9, 13, 17, 21])(
    'from the %ith on gives a clear ending, or leaves the run to the next command, and a ledger that can be read',
    async (first) => {
      const project = createProject({ git: false });
      const cli = await runWithFailingSync(project, first);
      expect([0, 1]).toContain(cli.code);
      if (cli.code === 1)
        expect(cli.stderr).toMatch(
          /error: .*(ledger\.db|EIO).*(Check (the disk|that the state folder)|The next caisson command settles it|point --state-dir)|failed/s,
        );
      expect(cli.stderr).not.toMatch(/\n {4}at /);
      const listed = await project.caisson('runs', '-o', 'json');
      expect(listed.code, listed.stderr).toBe(0);
      expectReadable(join(project.root, '.caisson'));
    },
  );
});

/** strace makes every fsync of host and worker fail from the nth on. A host that waits for better times is forced to leave. */
function runWithFailingSync(project: Project, first: number): Promise<CliRun> {
  if (!existsSync('/usr/bin/strace')) throw new Error('strace is needed: apt-get install strace');
  const inject = `inject=fsync,fdatasync:error=EIO:when=${first}+`;
  const child = spawn(
    '/usr/bin/strace',
    [
      ...['-f', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync', '-e', inject, process.execPath],
      ...[join(ROOT, 'packages/cli/bin/caisson.js'), 'run', '--retries', '0', '--workspace', 'empty'],
      ...['--', 'sh', '-c', 'echo x > a'],
    ],
    { cwd: project.root, env: project.env, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const interrupt = (): void => childrenOf(child.pid ?? 0).forEach((host) => process.kill(host, 'SIGINT'));
  void untilWaits(child).then(
    () => {
      interrupt();
      setTimeout(interrupt, SAME_SIGNAL_MS);
    },
    () => undefined, // it ended without
  );
  return finish(child);
}
