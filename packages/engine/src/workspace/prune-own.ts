/** Our repository for projects without git: no git of the user collects its garbage. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { createGit } from '@caisson/ground';

/** A run that begins meanwhile writes its objects again if they go before its refs name them (beside-gc.ts). */
export async function pruneOwn(stateDir: string, beforeMs: number): Promise<void> {
  const gitDir = join(stateDir, 'git');
  if (!Number.isFinite(beforeMs) || !existsSync(join(gitDir, 'HEAD'))) return;
  const expire = `--expire=${new Date(beforeMs).toISOString()}`;
  await createGit({ cwd: gitDir, gitDir, timeoutMs: 600_000 }).run(['prune', expire]);
}
