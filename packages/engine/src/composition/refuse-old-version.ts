import type { RuntimeDescriptor } from '@caisson/protocol';
import { compareVersions } from '../discovery/index.ts';
import { TaskRefusedError } from '../dispatch/index.ts';

/**
 * Programs pass over settings that they do not know, hooks among them: a version from before the ones that were tried
 * may run its calls without asking anybody. A newer one is let through; what is new in its stream is a warning.
 */
export function refuseOldVersion(
  { name, title, npmPackage, testedRange }: RuntimeDescriptor,
  version: string | null,
): void {
  if (version === null || testedRange === undefined) return;
  if (compareVersions(version, testedRange.from) >= 0) return;
  throw new TaskRefusedError({
    check: 'runtime-version',
    kind: 'unavailable',
    detail: `${title} ${version} is too old: only from ${testedRange.from} on is it known that its calls can be gated and its ending is understood`,
    remedy: `npm install -g ${npmPackage ?? title}, or set runtimes.${name}.bin to a newer one.`,
  });
}
