/** Which files a checkpoint changed. The repository may be the user's, where git may only list, so the trees are compared here. */
import { NEVER_IN_PATCH, showPath } from '@caisson/ground';

import type { PreparedWorkspace } from './contract.ts';
import { custodyGit, findCheckpoint } from './custody.ts';

export async function listSavedChanges(prepared: PreparedWorkspace): Promise<string[]> {
  const saved = await findCheckpoint(prepared);
  if (saved === null) return [];
  const [before, after] = await Promise.all([
    listTree(prepared.custodyDir, prepared.baselineTree),
    listTree(prepared.custodyDir, saved.tree),
  ]);
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths]
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => showPath(Buffer.from(path, 'latin1')))
    .filter((path) => !NEVER_IN_PATCH.includes(path.split('/', 1)[0] ?? ''));
}

/** Mode, kind and id of each file, by its path as bytes in Latin-1. */
async function listTree(custodyDir: string, tree: string): Promise<Map<string, string>> {
  const { stdout } = await custodyGit(custodyDir).run(['ls-tree', '-r', '-z', '--full-tree', tree]);
  const entries = stdout.toString('latin1').split('\0').filter(Boolean);
  return new Map(
    entries.map((entry) => {
      const [what = '', path = ''] = entry.split('\t', 2);
      return [path, what];
    }),
  );
}
