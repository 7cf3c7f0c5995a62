// bubblewrap mounts a folder by its path, and a program that writes beside it may put a link there before. So while the
// program waits at the start gate, what is mounted is compared with what the path means without a link.
import { lstatSync } from 'node:fs';
import { beneath } from '../files/index.ts';
import type { SandboxSpec } from './contract.ts';
import { SandboxStartError } from './errors.ts';
import type { Mount } from './mount-plan.ts';
import { isInside } from './real-path.ts';

/**
 * Throws if a folder of `layers`, or something in one, or a bind that is shown as named, is not what the sandbox shows. Before
 * the layers are made.
 */
export async function verifyLayers(
  { layers, binds = [] }: Pick<SandboxSpec, 'layers'> & Partial<Pick<SandboxSpec, 'binds'>>,
  plan: readonly Mount[],
  initPid: number,
): Promise<void> {
  const isOurs = (source: string): boolean =>
    (layers?.folders ?? []).some((folder) => isInside(folder.source, source)) ||
    binds.some((bind) => bind.isFolderAsNamed === true && bind.source === source);
  for (const mount of plan) {
    if (mount.kind !== 'bind' || mount.target === '/' || !isOurs(mount.source)) continue;
    const [meant, shown] = await Promise.all([
      identify('/', mount.source),
      identify(`/proc/${initPid}/root/.`, mount.target),
    ]);
    if (meant === null || meant !== shown)
      throw new SandboxStartError(`${mount.source} was replaced while the sandbox was built.`, {
        remedy:
          'Let no other program replace it. The search for such folders can be off: workspace: { detect: false }.',
      });
  }
}

/** Device and number of the file; `null` if there is none, or a link leads to it. */
async function identify(root: string, path: string): Promise<string | null> {
  try {
    return await beneath(root, Buffer.from(path.slice(1)), async (at) => {
      const stats = lstatSync(at, { bigint: true });
      return stats.isSymbolicLink() ? null : `${stats.dev}:${stats.ino}`;
    });
  } catch {
    return null;
  }
}
