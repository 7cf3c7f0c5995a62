import { join } from 'node:path';
import type { Job } from '@caisson/protocol';
import { listFolder } from '../view/index.ts';
import { SKILL_FOLDERS } from './overlay-rules.ts';

/** The skills of capabilities in the workspace: each replaces one of the same name as a whole. */
export function findCapabilitySkills({ overlay }: Pick<Job, 'overlay'>): string[] {
  const skills = overlay.flatMap(({ path }) =>
    SKILL_FOLDERS.flatMap((folder) =>
      listFolder(join(path, folder))
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => `${folder}/${name}`),
    ),
  );
  return [...new Set(skills)];
}
