/**
 * Deletes every ref of a run, in the user's repository and in our own (its checkpoint is gone with the next git gc),
 * what was held back from its refs, and its folders in the trash.
 */
import { join } from 'node:path';
import { removeTree } from '@caisson/ground';

import type { Workspaces } from './contract.ts';
import { deleteRefs, listCustodies } from './custody.ts';
import type { UserFolders } from './locate-repository.ts';
import { listFolder } from './record.ts';

export async function forgetCheckpoints(
  options: Parameters<Workspaces['forget']>[0],
  user: UserFolders,
): Promise<void> {
  const { stateDir, runId, onlyRefs = false } = options;
  for (const place of await listCustodies(options, user)) await deleteRefs(place, runId);
  for (const folder of onlyRefs ? [] : ['trash', 'held-back'].map((name) => join(stateDir, name)))
    for (const name of await listFolder(folder))
      if (name.startsWith(`${runId}.`)) await removeTree(join(folder, name));
}
