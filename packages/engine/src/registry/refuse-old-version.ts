import type { RuntimeDescriptor } from '@caisson/protocol';
import { compareVersions } from '../discovery/index.ts';
import { TaskRefusedError } from '../platform/index.ts';

/**
 * Programs ignore settings that they do not know, including hooks: a version older than the tested ones may run its
 * calls without asking. A newer one is allowed; what is new in its stream is a warning.
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
    detail: `${title} ${version} is too old: Caisson can gate its calls and read its ending only from version ${testedRange.from} on`,
    // Without @latest npm chooses the newest version that names the Node at hand, which may be this one.
    remedy: `npm install -g ${npmPackage ?? title}@latest, with the Node that it asks for, or set runtimes.${name}.bin to a newer one.`,
  });
}
