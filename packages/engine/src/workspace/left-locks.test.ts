import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import { checkpointRef, updateRefs } from './custody.ts';
import { createScratchProject, gitIn } from './scratch-project-stage.ts';

it('a killed git that left the lock of a ref of ours does not keep it from being written', async () => {
  const project = createScratchProject();
  onTestFinished(() => project.dispose());
  project.write('a.txt', 'one\n');
  project.commit('first');
  const gitDir = join(project.root, '.git');
  const commit = gitIn(project.root, project.home, 'rev-parse', 'HEAD').trim();
  const [ours, users] = [checkpointRef('run_a', 1), 'refs/heads/other'];
  for (const ref of [ours, users]) {
    mkdirSync(dirname(join(gitDir, ref)), { recursive: true });
    writeFileSync(join(gitDir, `${ref}.lock`), '');
  }
  await updateRefs(gitDir, new Map([[ours, commit]]));
  expect(gitIn(project.root, project.home, 'rev-parse', ours).trim()).toBe(commit);
  expect(existsSync(join(gitDir, `${ours}.lock`))).toBe(false);
  await expect(updateRefs(gitDir, new Map([[users, commit]]))).rejects.toThrow('lock');
  expect(existsSync(join(gitDir, `${users}.lock`))).toBe(true);
});
