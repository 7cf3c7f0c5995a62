/** What happens to a daemon, and what it leaves: killed, stopped, moved, without space. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readProcess } from '@caisson/ground';
import type { DaemonStatus, DispatchResult } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, pidsWith, until, type Project } from '../e2e/project.ts';

async function serve(project: Project, ...options: string[]): Promise<number> {
  const { stdout, stderr } = await project.caisson('up', '-d', '-o', 'json', ...options);
  if (stdout === '') throw new Error(stderr);
  const { pid } = JSON.parse(stdout) as DaemonStatus;
  onTestFinished(() => {
    if (!isGone(pid)) process.kill(pid, 'SIGKILL');
  });
  return pid;
}

/** A zombie has ended: nobody may wait for a process that outlived the one that started it. */
function isGone(pid: number): boolean {
  const state = readProcess(pid)?.state ?? 'X';
  return state === 'X' || state === 'Z';
}

async function startSleeper(project: Project): Promise<{ runId: string; mark: string }> {
  const mark = `sleep 3${process.hrtime.bigint()}`;
  const { stdout } = await project.caisson('run', '--detach', '--', 'sh', '-c', `echo up; ${mark}`);
  const runId = stdout.trim();
  await until('it is up', async () => (await project.caisson('logs', runId, '--stdout')).stdout === 'up\n');
  return { runId, mark };
}

const show = async (project: Project, runId: string): Promise<DispatchResult> =>
  JSON.parse((await project.caisson('show', runId, '-o', 'json')).stdout) as DispatchResult;

describe('a daemon', { timeout: 120_000 }, () => {
  it('that is killed, and whose workers end with it, is replaced by the next one, and its run ends once', async () => {
    const project = createProject({ config: 'limits: { adoptWithin: 0s }\n' });
    const killed = await serve(project);
    const { runId, mark } = await startSleeper(project);
    process.kill(killed, 'SIGKILL');
    await until('it is gone', () => isGone(killed));
    expect((await project.caisson('status')).code).toBe(1);
    const next = await serve(project);
    expect(next).not.toBe(killed);
    expect(await show(project, runId)).toMatchObject({ status: 'interrupted', failure: { reason: 'lost' } });
    const endings = (await project.events(runId)).filter(({ type }) => type.startsWith('dispatch.failed'));
    expect(endings).toHaveLength(1);
    expect(pidsWith(mark)).toEqual([]);
    expect((await project.run('--', 'true')).status).toBe('done');
    expect((await project.caisson('down')).code).toBe(0);
    expect(pidsWith(`${project.root}/.caisson`)).toEqual([]);
  });

  it('that is stopped is alive: no other one takes its place, and the remedy is named', async () => {
    const project = createProject();
    const pid = await serve(project);
    process.kill(pid, 'SIGSTOP');
    for (const args of [['up', '-d'], ['down']]) {
      const refused = await project.caisson(...args);
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringMatching(
          new RegExp(
            `is stopped \\(pid ${pid}, .*kill -CONT ${pid}\\. Or replace it: caisson up -d --replace`,
          ),
        ),
      ]);
    }
    const status = await project.caisson('status', '-o', 'json');
    expect([status.code, JSON.parse(status.stdout)]).toEqual([
      1,
      expect.objectContaining({ daemon: 'stopped', pid }),
    ]);
    const foreground = await project.caisson('up');
    expect([foreground.code, foreground.stderr]).toEqual([1, expect.stringContaining(`pid ${pid}`)]);
    process.kill(pid, 'SIGCONT');
    await until('it answers', async () => (await project.caisson('status')).code === 0);
    expect((await project.caisson('down')).code).toBe(0);
  });

  it('that stood still while another one replaced it leaves when it goes on', async () => {
    const project = createProject();
    const frozen = await serve(project);
    const { mark } = await startSleeper(project);
    const agents = pidsWith(mark);
    process.kill(frozen, 'SIGSTOP');
    // Everything by which it could be known to live.
    const state = join(project.root, '.caisson');
    const db = new DatabaseSync(join(state, 'ledger.db'));
    db.exec("DELETE FROM kv WHERE space = 'daemon' AND key = 'lease'");
    db.close();
    for (const path of ['daemon.sock', 'hosts']) rmSync(join(state, 'runtime', path), { recursive: true });
    const next = await serve(project);
    const inode = (): bigint => statSync(join(state, 'runtime/daemon.sock'), { bigint: true }).ino;
    const before = inode();
    process.kill(frozen, 'SIGCONT');
    await until('it has left', () => isGone(frozen), 30_000);
    expect([isGone(next), pidsWith(mark), inode()]).toEqual([false, agents, before]);
    expect(readFileSync(join(state, 'runtime/daemon.log.1'), 'utf8')).toContain('this one leaves');
    expect((await project.caisson('status')).code).toBe(0);
    expect((await project.caisson('down', '--now')).code).toBe(0);
    expect(pidsWith(mark)).toEqual([]);
  });

  it('whose project is moved says so and ends, and nothing is written where it was', async () => {
    const project = createProject();
    const pid = await serve(project);
    const { runId, mark } = await startSleeper(project);
    const moved = `${project.root}-moved`;
    renameSync(project.root, moved);
    mkdirSync(project.root);
    await until('it has ended', () => isGone(pid), 30_000);
    expect(readFileSync(join(moved, '.caisson/runtime/daemon.log'), 'utf8')).toMatch(
      /error: The ledger \S+ was removed, moved or replaced while it was in use/,
    );
    expect([existsSync(join(project.root, '.caisson')), pidsWith(mark)]).toEqual([false, []]);
    rmSync(project.root, { recursive: true });
    renameSync(moved, project.root);
    expect(await show(project, runId)).toMatchObject({ status: 'interrupted', failure: { reason: 'lost' } });
    await serve(project);
    expect((await project.caisson('down')).code).toBe(0);
  });

  it('on a full disk answers, refuses runs with a reason, and ends; with space a new one serves', async (context) => {
    if (process.getuid?.() !== 0) context.skip('only root can mount a small disk');
    const project = createProject({ git: false });
    const disk = join(project.root, '../disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]);
    onTestFinished(() => void execFileSync('umount', ['--lazy', disk]));
    const state = ['--state-dir', join(disk, 'state')];
    const pid = await serve(project, ...state);
    fill(disk);
    expect((await project.caisson('status', ...state)).code).toBe(0);
    const refused = await project.caisson('run', ...state, '--workspace', 'empty', '--', 'true');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/full|space|ENOSPC/i)]);
    const down = await project.caisson('down', ...state);
    expect([down.code, isGone(pid)]).toEqual([0, true]);
    rmSync(join(disk, 'fill'));
    await serve(project, ...state);
    expect((await project.run(...state, '--workspace', 'empty', '--', 'true')).status).toBe('done');
    expect((await project.caisson('down', ...state)).code).toBe(0);
  });
});

function fill(disk: string): void {
  for (const size of ['64k', '4k', '1k'])
    execFileSync('sh', [
      '-c',
      `dd if=/dev/zero of=${disk}/fill bs=${size} oflag=append conv=notrunc 2>/dev/null || :`,
    ]);
}
