/** The copies of remote repositories in the state folder: what keeps them, and what lets them go. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createBareRemote } from './bare-remote.ts';
import { createProject } from './project.ts';

const write = ['--', 'sh', '-c', 'echo x >work.txt'];

it('gc drops a copy once no run needs it, and du names it', { timeout: 120_000 }, async () => {
  const remote = createBareRemote();
  const project = createProject({ git: false });
  const listCopies = (): string[] =>
    readdirSync(join(project.root, '.caisson/remotes')).filter((name) => /^[0-9a-f]{32}$/.test(name));
  const pushed = await project.run('--repo', remote.path, '--branch', 'one', '--push', ...write);
  remote.hook('pre-receive', 'exit 1');
  const refused = await project.run('--repo', remote.path, '--branch', 'two', '--push', ...write);
  expect([pushed.push?.status, refused.push?.status]).toEqual(['pushed', 'failed']);
  expect((await project.caisson('du')).stdout).toMatch(/remotes +copies of remote repositories/);

  const first = await project.caisson('gc', '--all', '--older-than', '0s');
  expect(first.stdout).toContain(`forgot 1 run: ${pushed.runId}`);
  expect(first.stdout).toContain(`kept ${refused.runId}: you do not have its work`);
  expect(listCopies()).toHaveLength(1);

  await project.caisson('forget', refused.runId);
  expect((await project.caisson('branches')).stdout).toBe('No branch waits.\n');
  expect((await project.caisson('gc')).code).toBe(0);
  expect(listCopies()).toHaveLength(1); // git.cacheAge
  const last = await project.caisson('gc', '--older-than', '0s');
  expect(last.stdout).toContain(`deleted the copy of ${remote.path}`);
  expect(listCopies()).toEqual([]);
  expect((await project.caisson('doctor', '-o', 'json')).stdout).not.toContain('is gone');
});
