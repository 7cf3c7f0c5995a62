/**
 * What is left when the power is cut: of runs that have ended all of it, of one under way what the next command needs.
 * The cut itself needs root and a loop device. Where there is none, the trace below is the proof: it looks at the order
 * of syncs and names, and runs everywhere.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';
import { createProject, finish, ROOT, until, type Project } from '../e2e/project.ts';
import { mountFragileDisk, type FragileDisk } from './power-cut.ts';
import { findUnsynced, readSyncs, TRACE } from './synced-renames.ts';

const WORK = 'echo changed >README.md; mkdir -p new; echo made >new/file';

function fragileProject(context: TestContext): { disk: FragileDisk; project: Project } {
  const disk = mountFragileDisk();
  if (disk === null) return context.skip('no loop device can be mounted here: see the trace');
  const project = createProject({ under: disk.path });
  project.write('mine.txt', 'uncommitted\n');
  spawnSync('sync', ['-f', disk.path]); // all this was there long before
  return { disk, project };
}

describe('a power cut', { timeout: 120_000 }, () => {
  it('takes nothing of a run that has ended', async (context) => {
    const { disk, project } = fragileProject(context);
    const first = await project.run('--branch', 'work', '--', 'sh', '-c', WORK);
    disk.cut();
    const second = await project.run(
      '--',
      'sh',
      '-c',
      `${WORK}; git commit -qam mine; echo more >>README.md`,
    );
    disk.cut();
    for (const { runId } of [first, second]) {
      expect(project.git('show', `refs/caisson/${runId}/1:new/file`)).toBe('made\n');
      expect((await project.caisson('diff', runId)).stdout).toContain('+changed');
      expect((await project.caisson('verify', runId)).code).toBe(0);
    }
    expect(project.git('show', 'work:new/file')).toBe('made\n');
    expectHealthy(project);
  });

  it('leaves a run under way to the next command, which settles and cleans up', async (context) => {
    const { disk, project } = fragileProject(context);
    const runId = await leaveToNext(disk, project, 'sync');
    expect(project.git('show', `refs/caisson/${runId}/1:new/file`)).toBe('made\n');
    expectHealthy(project);
  });

  it('leaves a run in an empty folder likewise, where it takes all that the agent did not sync', async (context) => {
    const { disk, project } = fragileProject(context);
    const runId = await leaveToNext(disk, project, 'sync new/file new .', '--workspace', 'empty');
    expect(project.git('--git-dir=.caisson/git', 'show', `refs/caisson/${runId}/1:new/file`)).toBe('made\n');
    expect(readdirSync(join(project.root, '.caisson/worktrees'))).toEqual([]);
  });
});

/** A run whose command syncs its work, and the cut; the next command ends it without a warning. */
async function leaveToNext(
  disk: FragileDisk,
  project: Project,
  sync: string,
  ...args: readonly string[]
): Promise<string> {
  const work = `${WORK}; ${sync}; echo late >late; sleep 600`;
  const host = project.start('run', ...args, '--', 'sh', '-c', work);
  const worktrees = join(project.root, '.caisson/worktrees');
  await until('the work', () => spawnSync('grep', ['-rqs', 'late', worktrees]).status === 0);
  disk.cut(host);
  const listed = await project.caisson('runs', '-o', 'json');
  const [run] = JSON.parse(listed.stdout) as { runId: string; status: string }[];
  expect(run?.status).toBe('interrupted');
  const events = await project.events(run?.runId ?? '');
  expect(events).not.toContainEqual(expect.objectContaining({ type: 'warning' }));
  return run?.runId ?? '';
}

function expectHealthy(project: Project): void {
  project.git('gc', '-q', '--prune=now');
  project.git('log', '--all', '--oneline');
  expect(project.git('fsck', '--no-dangling', '--connectivity-only')).toBe('');
}

describe('what a power cut could take', { timeout: 120_000 }, () => {
  it('is no name that anything relies on: bytes are synced before it, and its folder after it', async () => {
    const project = createProject();
    project.write('mine.txt', 'uncommitted\n');
    project.write('team/capabilities/skill/SKILL.md', 'a skill\n');
    const trace = join(project.root, '../trace');
    const traced = async (...args: string[]): Promise<string[]> => {
      const command = [process.execPath, join(ROOT, 'packages/cli/bin/caisson.js'), ...args];
      const { code, stderr } = await finish(
        spawn('strace', [...TRACE, '-o', trace, ...command], { cwd: project.root, env: project.env }),
      );
      expect(code, stderr).toBe(0);
      return findUnsynced(trace, isRelied);
    };
    expect(await traced('register', '--from', 'team')).toEqual([]);
    expect(await traced('run', '--branch', 'work', '--', 'sh', '-c', WORK)).toEqual([]);
    const synced = new Set(readSyncs(trace));
    const objects = project
      .git('rev-list', '--objects', '--no-object-names', '--all', '--not', 'main')
      .trim()
      .split('\n');
    expect(objects.length).toBeGreaterThan(5);
    const files = objects.map((id) => join(project.root, '.git/objects', id.slice(0, 2), id.slice(2)));
    expect(files.filter((file) => !synced.has(file))).toEqual([]);
    expect(await traced('export', 'latest', '--to', '../export.tar')).toEqual([]);
    expect(await traced('apply', 'latest')).toEqual([]);
    expect(readSyncs(trace)).toEqual(expect.arrayContaining([project.root, join(project.root, 'new')]));
  });
});

/**
 * Not these: what an attempt has beside its record (recovery makes do without), captures and results (read and checked again), locks,
 * caches, hints, claims of processes that live, and objects of git, which count only once a ref names them.
 */
function isRelied(path: string): boolean {
  const isHint =
    /\/(worktrees|trash|captures|results|stat-cache|objects|compile|tmp|claims)\/|\.lock$|\/index$/.test(
      path,
    );
  return !isHint && !path.startsWith('.git/') && path.startsWith('/');
}
