/**
 * What finished runs leave: in the state folder, the repository, the home, the temporary folder and the kernel. A
 * thousand of them are `npm run test:faults -- --kind footprint --count 1000`.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findByMarker, killMarked, MARKER_NAME } from '@caisson/ground';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLedger } from '../../packages/engine/src/ledger/index.ts';
import { createProject, finish, until, type Project } from '../e2e/project.ts';
import { leaveFootprint } from './harness/kinds/footprint.ts';

/** Enough that small files were put together twice. */
const RUNS = 30;
const KILLS = 3;
const MOMENTS = ['dispatch.accepted', 'attempt.launched', 'dispatch.started', 'dispatch.finished'] as const;

/** A project whose user has a folder for temporary files of their own. */
function createOwnProject(): { project: Project; temporary: string } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-bounded-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [home, temporary] = [join(base, 'home'), join(base, 'tmp')];
  for (const folder of [home, temporary]) mkdirSync(folder);
  const project = createProject({ env: { HOME: home, TMPDIR: temporary } });
  return { project, temporary };
}

describe('finished runs', { timeout: 120_000 }, () => {
  it('that did nothing leave at most 4 files and 20 kB each, and no memory group', async () => {
    expect((await leaveFootprint(RUNS)).violations).toEqual([]);
  });

  it('leave what they printed to a later reader', async () => {
    const { project } = createOwnProject();
    const run = await project.run('--', 'sh', '-c', 'echo out; echo err >&2');
    expect((await project.caisson('logs', run.runId, '--stdout')).stdout).toBe('out\n');
    expect((await project.caisson('logs', run.runId, '--stderr')).stdout).toBe('err\n');
    const spool = join(project.root, '.caisson/runtime/spool');
    expect(readdirSync(spool)).toEqual([]);
    // More than the record takes: the rest is nowhere else.
    const long = await project.run('--', 'sh', '-c', 'head -c 5000000 /dev/zero | tr "\\0" x');
    expect((await project.caisson('logs', long.runId, '--stdout')).stdout).toHaveLength(5_000_000);
    expect(readdirSync(spool)).toEqual([`${long.runId}.1`]);
  });

  it('that were killed before they changed anything have no work that could be missed', async () => {
    const { project } = createOwnProject();
    project.write('.gitignore', 'ignored\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'ignore');
    await project.run('--', 'true');
    const ledger = openLedger(join(project.root, '.caisson/ledger.db'));
    for (const before of ['true', 'echo made > ignored']) {
      const seen = ledger.read({ types: ['attempt.launched'] }).length;
      const child = project.start('run', '--', 'sh', '-c', `${before}; echo up; exec sleep 1000`);
      const ended = finish(child);
      const launched = await until('the worker', () => ledger.read({ types: ['attempt.launched'] })[seen]);
      const printed = join(project.root, `.caisson/runtime/spool/${launched.runId}.1/stdout`);
      await until('the agent', () => existsSync(printed) && readFileSync(printed, 'utf8') === 'up\n');
      const { pid } = launched.data['handle'] as { pid: number };
      for (const each of [pid, child.pid ?? 0]) process.kill(each, 'SIGKILL');
      await ended;
      const shown = await project.caisson('show', 'latest', '-o', 'json');
      expect(JSON.parse(shown.stdout)).toMatchObject({ status: 'interrupted' });
      expect(JSON.parse(shown.stdout)).not.toHaveProperty('unpatched');
    }
    await ledger.close();
  });

  it('whose host and worker are killed at once while the sandbox is built leave no process', async () => {
    const { project } = createOwnProject();
    await project.run('--', 'true');
    const ledger = openLedger(join(project.root, '.caisson/ledger.db'));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const seen = ledger.read({ types: ['attempt.launched'] }).length;
      const child = project.start('run', '--', 'sleep', '1000');
      const launched = await until('the worker', () => ledger.read({ types: ['attempt.launched'] })[seen]);
      const { pid } = launched.data['handle'] as { pid: number };
      await delay(kill % 40);
      for (const each of [child.pid ?? 0, pid]) process.kill(each, 'SIGKILL');
      const marker = `${launched.runId}.1`;
      onTestFinished(async () => void (await killMarked(MARKER_NAME, marker)));
      await until('no process is left', () => findByMarker(MARKER_NAME, marker).length === 0, 5000);
    }
    await ledger.close();
    expect((await project.caisson('runs')).code).toBe(0);
  });

  it('that were killed leave nothing in the temporary folder, nor files of theirs after recovery', async () => {
    const { project, temporary } = createOwnProject();
    await project.run('--', 'true');
    const stateDir = join(project.root, '.caisson');
    for (let kill = 0; kill < KILLS; kill += 1) {
      const moment = MOMENTS[kill % MOMENTS.length] ?? 'dispatch.accepted';
      const ledger = openLedger(join(stateDir, 'ledger.db'));
      const seen = ledger.read({ types: [moment] }).length;
      const child = project.start('run', '--', 'sleep', '0.2');
      const ended = finish(child);
      await until(moment, () => ledger.read({ types: [moment] }).length > seen);
      child.kill('SIGKILL');
      await ended;
      await ledger.close();
      expect((await project.caisson('runs')).code).toBe(0);
    }
    await until('nothing is left in the temporary folder', () => readdirSync(temporary).length === 0);
    const left = readdirSync(join(stateDir, 'runtime'), { recursive: true }).filter(isFileOfRun);
    expect(left).toEqual([]);
    expect(readdirSync(join(stateDir, 'worktrees'))).toEqual([]);
  });

  it('whose clean-up failed leave nothing after the next run, and what a run needs is not touched', async () => {
    const { project } = createOwnProject();
    const { runId } = await project.run('--', 'true');
    const runtime = join(project.root, '.caisson/runtime');
    const folders = ['jobs', 'captures', 'mailboxes', 'homes', 'net', 'overlays'].map((name) =>
      join(runtime, name),
    );
    for (const folder of folders) mkdirSync(join(folder, `${runId}.1/left`), { recursive: true });
    const groups = ['memory', 'pids', 'freezer']
      .map((name) => `/sys/fs/cgroup/${name}/caisson`)
      .filter((folder) => existsSync(folder));
    for (const folder of groups) mkdirSync(join(folder, `${runId}.1`));
    const child = project.start('run', '--', 'sh', '-c', 'while [ ! -e go ]; do sleep 0.05; done');
    const ended = finish(child);
    const left = (): string[] =>
      [...folders, ...groups]
        .flatMap((folder) => readdirSync(folder))
        .filter((name) => name.startsWith(runId));
    await until('what was left is gone', () => left().length === 0);
    const [own] = await until('the run has files', () => listWorktrees(project));
    expect(readdirSync(join(runtime, 'captures'))).toEqual([own]);
    project.write(`.caisson/worktrees/${own}/files/go`, '');
    expect((await ended).code).toBe(0);
  });
});

function listWorktrees({ root }: Project): string[] | null {
  const names = readdirSync(join(root, '.caisson/worktrees'));
  return names.length === 0 ? null : names;
}

const isFileOfRun = (name: string | Buffer): boolean => String(name).includes('run_');
