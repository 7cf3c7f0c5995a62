import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { createGit } from '../git/index.ts';
import { forgetMemory } from './staged-memory.ts';

/**
 * Resets everything that was staged since the baseline, only in the index: the next stage reads those files again and
 * writes their contents again. What an index remembers of absent files (S7) stays.
 */
export async function forgetStaged(place: {
  readonly workspace: string;
  readonly gitDir: string;
  readonly baselineTree: string;
}): Promise<void> {
  const { workspace, gitDir, baselineTree } = place;
  await forgetMemory(gitDir);
  const indexFile = join(gitDir, 'index');
  await rm(`${indexFile}.lock`, { force: true });
  const git = createGit({ cwd: workspace, gitDir, workTree: workspace, indexFile });
  const listed = await git.run(['diff-index', '--cached', '--name-only', '--no-renames', '-z', baselineTree]);
  if (listed.stdout.length === 0) return;
  await git.run(['reset', '-q', baselineTree, '--pathspec-from-file=-', '--pathspec-file-nul'], {
    stdin: toLiteral(listed.stdout),
  });
}

/** Each of the names, none of which need be text, as exactly that one path. */
function toLiteral(names: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < names.length;) {
    const end = names.indexOf(0, at);
    parts.push(Buffer.from(':(top,literal)'), names.subarray(at, end + 1));
    at = end + 1;
  }
  return Buffer.concat(parts);
}
