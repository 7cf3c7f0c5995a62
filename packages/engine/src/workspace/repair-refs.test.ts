import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { createScratchProject, type ScratchProject } from './scratch-project-stage.ts';

function stage(): { project: ScratchProject; write(path: string, text: string): string } {
  const project = createScratchProject();
  onTestFinished(() => project.dispose());
  project.write('a.txt', 'a\n');
  project.commit('first');
  const write = (path: string, text: string): string => {
    const file = join(project.root, '.git', path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  return { project, write };
}

it('an object without bytes goes, and what a git is about to write stays', async () => {
  const { project, write } = stage();
  const object = write(`objects/ab/${'c'.repeat(38)}`, '');
  const draft = write('objects/ab/tmp_obj_x', '');
  await project.workspaces.repairRefs({ ...placeOf(project), findCommit: () => null });
  expect([existsSync(object), existsSync(draft)]).toEqual([false, true]);
});

function placeOf({ root, stateDir }: ScratchProject): { projectRoot: string; stateDir: string } {
  return { projectRoot: root, stateDir };
}
