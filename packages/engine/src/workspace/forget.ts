/**
 * Deletes every ref of a run, in the user's repository and in our own (its checkpoint is gone with the next git gc),
 * what was held back from its refs, and what the trash holds of it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { removeTree } from '@caisson/ground';

import { custodyGit } from './custody.ts';
import { findRepository, type UserFolders } from './locate-repository.ts';
import { listFolder } from './record.ts';

export async function forgetCheckpoints(
  options: { projectRoot: string; stateDir: string; runId: string },
  user: UserFolders,
): Promise<void> {
  const repository = await findRepository(options.projectRoot, user);
  const own = join(options.stateDir, 'git');
  const places = [
    ...(repository === null ? [] : [repository.commonDir]),
    ...(existsSync(join(own, 'HEAD')) ? [own] : []),
  ];
  for (const place of places) {
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
