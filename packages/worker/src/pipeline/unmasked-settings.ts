import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { AttemptContext } from '../attempt/index.ts';
import type { ProjectMask } from '../runtimes/index.ts';

/** Without a sandbox nothing is masked: the run lists what the program may obey, so that no one relies on a mask. */
export function warnOfUnmasked({ job, writer }: AttemptContext, masks: readonly ProjectMask[]): void {
  if (job.grant.sandbox !== 'none') return;
  const { path, mountPath } = job.workspace;
  const there = masks
    .map((mask) => relative(mountPath, mask.path))
    .filter((place) => existsSync(join(path, place)));
  if (there.length === 0) return;
  const message = `without a sandbox the program may obey settings of the repository: ${there.join(', ')}`;
  writer.write({ kind: 'warning', source: 'project-settings', message });
}
