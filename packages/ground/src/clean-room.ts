/** A fresh checkout of the baseline with a patch applied to it: where a clean-room check runs. */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createGit } from './git.ts';

let roomCount = 0;

/** Writes baseline plus patch to `target`, which must not exist yet. */
export async function materialisePatched(options: {
  readonly gitDir: string;
  readonly baselineTree: string;
  readonly patchFile: string | null;
  readonly target: string;
}): Promise<void> {
  const { gitDir, target } = options;
  await mkdir(target, { recursive: true, mode: 0o700 });
  const indexFile = join(gitDir, `room.${process.pid}.${(roomCount += 1)}`);
  const git = createGit({ cwd: target, gitDir, workTree: target, indexFile });
  try {
    await git.run(['read-tree', options.baselineTree]);
    if (options.patchFile !== null) {
      await git.run(['apply', '--cached', '--whitespace=nowarn', '-'], {
        stdin: await readFile(options.patchFile),
      });
    }
    await git.run(['checkout-index', '--all', '--force']);
  } finally {
    await rm(indexFile, { force: true });
  }
}
