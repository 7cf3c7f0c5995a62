/**
 * The files of a clean room, in two steps: the baseline first, so that the user's files are copied onto it, and the
 * patch last, so that nothing is ever written through a link that the patch makes.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createGit, type Git, listTreeChanges } from '../git/index.ts';
import { removeListedFile } from '../files/index.ts';

let roomCount = 0;

export interface CleanRoomOptions {
  readonly gitDir: string;
  readonly baselineTree: string;
  /** The folder that becomes the clean room. */
  readonly target: string;
}

/** Writes the baseline's files to `target`. */
export async function writeBaseline(options: CleanRoomOptions): Promise<void> {
  await mkdir(options.target, { recursive: true, mode: 0o700 });
  await withOwnIndex(options, async (git) => {
    await git.run(['read-tree', options.baselineTree]);
    await git.run(['checkout-index', '--all', '--force'], { config: ['checkout.workers=4'] });
  });
}

/** Changes in `target` what the patch changes, replacing what is there; the rest stays. */
export async function writePatch(options: CleanRoomOptions & { readonly patchFile: string }): Promise<void> {
  await withOwnIndex(options, async (git) => {
    await git.run(['read-tree', options.baselineTree]);
    await git.run(['apply', '--cached', '--whitespace=nowarn', '-'], {
      stdin: await readFile(options.patchFile),
    });
    const changes = await listTreeChanges(git, options.baselineTree, await git.text(['write-tree']));
    const isGone = ({ newMode }: { newMode: string }): boolean => /^0+$/.test(newMode);
    for (const { path } of changes.filter(isGone)) await removeListedFile(options.target, path);
    const paths = changes.filter((change) => !isGone(change)).map(({ path }) => `${path}\0`);
    if (paths.length === 0) return;
    await git.run(['checkout-index', '--force', '-z', '--stdin'], {
      stdin: Buffer.from(paths.join(''), 'latin1'),
    });
  });
}

async function withOwnIndex(
  { gitDir, target }: CleanRoomOptions,
  work: (git: Git) => Promise<void>,
): Promise<void> {
  const indexFile = join(gitDir, `room.${process.pid}.${(roomCount += 1)}`);
  try {
    await work(createGit({ cwd: target, gitDir, workTree: target, indexFile, timeoutMs: 600_000 }));
  } finally {
    await Promise.all([rm(indexFile, { force: true }), rm(`${indexFile}.lock`, { force: true })]);
  }
}
