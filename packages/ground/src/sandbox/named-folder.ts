import type { SandboxBind, SandboxSpec } from './contract.ts';
import { SandboxSpecError } from './errors.ts';
import { findRealPath, findStats } from './real-path.ts';

/**
 * What is mounted. Throws for one that must be a folder as named, and is not, or that would open what is hidden;
 * verify-layers.ts looks again later.
 */
export function sourceOf(
  { source, isFolderAsNamed }: SandboxBind,
  { hide }: Pick<SandboxSpec, 'hide'>,
): string {
  const real = findRealPath(source);
  if (isFolderAsNamed !== true || real === null) return source; // a missing one is refused anyway
  if (real !== source)
    throw new SandboxSpecError(`${source} is not shown: a link leads from it to ${real}.`, {
      remedy: 'Name the folder itself, without a link on the way to it.',
    });
  if (findStats(source)?.isDirectory() !== true)
    throw new SandboxSpecError(`${source} is not shown: it is not a folder.`);
  const hidden = hide.map(findRealPath).find((path) => path !== null && `${source}/`.startsWith(`${path}/`));
  if (hidden !== undefined)
    throw new SandboxSpecError(`${source} is not shown: no sandbox shows what is in ${hidden}.`, {
      remedy: 'Name a folder outside of it.',
    });
  return source;
}
