import type { SandboxBind } from './contract.ts';
import { SandboxSpecError } from './errors.ts';
import { findRealPath, findStats } from './real-path.ts';

/** What is mounted. Throws for one that must be a folder as named, and is not; verify-layers.ts looks again later. */
export function sourceOf({ source, isFolderAsNamed }: SandboxBind): string {
  const real = findRealPath(source);
  if (isFolderAsNamed !== true || real === null) return source; // a missing one is refused anyway
  if (real !== source)
    throw new SandboxSpecError(`${source} is not shown: a link leads from it to ${real}.`, {
      remedy: 'Name the folder itself, without a link on the way to it.',
    });
  if (findStats(source)?.isDirectory() !== true)
    throw new SandboxSpecError(`${source} is not shown: it is not a folder.`);
  return source;
}
