/**
 * Deletes every ref of a run, in the user's repository and in our own (its checkpoint is gone with the next git gc),
 * what was held back from its refs, and its folders in the trash.
 */
import { join } from 'node:path';
import { removeTree } from '@caisson/ground';

import { custodyGit, listCustodies } from './custody.ts';
import type { UserFolders } from './locate-repository.ts';
import { listFolder } from './record.ts';

export async function forgetCheckpoints(
  options: { projectRoot: string; stateDir: string; runId: string },
  user: UserFolders,
): Promise<void> {
  for (const place of await listCustodies(options, user)) {
    const git = custodyGit(place);
    const listed = await git.text(['for-each-ref', '--format=%(refname)', `refs/caisson/${options.runId}/`]);
    const orders = listed
      .split('\n')
      .filter(Boolean)
      .map((name) => `delete ${name}\n`);
    if (orders.length > 0) await git.run(['update-ref', '--stdin'], { stdin: orders.join('') });
  }
  for (const folder of ['trash', 'held-back'].map((name) => join(options.stateDir, name)))
    for (const name of await listFolder(folder))
      if (name.startsWith(`${options.runId}.`)) await removeTree(join(folder, name));
}
