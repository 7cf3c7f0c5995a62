/** The state folder is removed or moved under a run: it is noticed, reported, and nothing is made again silently. */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChildProcess } from 'node:child_process';
import { createProject, finish, pidsWith, until, type Project } from '../e2e/project.ts';

describe('a state folder that is removed during a run', { timeout: 60_000 }, () => {
  it.each([
    [
      'the folder',
      [],
      (project: Project) =>
        rmSync(join(project.root, '.caisson'), { recursive: true, force: true, maxRetries: 20 }),
    ],
    [
      'the whole project',
      [],
      (project: Project) => rmSync(project.root, { recursive: true, force: true, maxRetries: 20 }),
    ],
    [
      'the folder, of a run without a sandbox',
      ['--sandbox', 'none'],
      (project: Project) =>
        rmSync(join(project.root, '.caisson'), { recursive: true, force: true, maxRetries: 20 }),
    ],
    ['the ledger alone', [], (project: Project) => rmSync(join(project.root, '.caisson/ledger.db'))],
  ])('ends the run loudly: %s', async (_what, options, remove) => {
    const project = createProject();
    const { child, mark } = await startSleeper(project, options);
    remove(project);
    const removedAt = performance.now();
    const ended = await finish(child);
    expect(performance.now() - removedAt).toBeLessThan(10_000);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /error: The ledger \S+ledger\.db was removed, moved or replaced while it was in use/,
    );
    expect(existsSync(join(project.root, '.caisson/ledger.db'))).toBe(false);
    expect(pidsWith(mark)).toEqual([]);
  });

  it('leaves no new folder where the project was', async () => {
    const project = createProject();
    const { child } = await startSleeper(project, []);
    rmSync(project.root, { recursive: true, force: true, maxRetries: 20 });
    await finish(child);
    expect(existsSync(project.root)).toBe(false);
  });

  it('lets a project that was moved be settled where it is now', async () => {
    const project = createProject();
    const { child, runId } = await startSleeper(project, []);
    const moved = `${project.root}-moved`;
    renameSync(project.root, moved);
    expect((await finish(child)).code).toBe(1);
    renameSync(moved, project.root);
    const shown = await project.caisson('show', runId, '-o', 'json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ status: 'interrupted', failure: { reason: 'lost' } });
  });
});

/** A run whose agent exists and does nothing, and whose events have no reader. */
async function startSleeper(
  project: Project,
  options: readonly string[],
): Promise<{ child: ChildProcess; runId: string; mark: string }> {
  const mark = `sleep 3${process.hrtime.bigint()}`;
  const child = project.start('run', ...options, '--', 'sh', '-c', `echo up; ${mark}`);
  const spool = join(project.root, '.caisson/runtime/spool');
  let runId = '';
  await until('the agent', async () => {
    if (!existsSync(spool)) return false;
    runId = readdirSync(spool)[0]?.split('.', 1)[0] ?? '';
    return runId !== '' && (await project.caisson('logs', runId, '--stdout')).stdout === 'up\n';
  });
  return { child, runId, mark };
}
