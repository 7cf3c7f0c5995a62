/** What differs between two trees, path by path. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../files/index.ts';
import { createGit, type Git } from './git.ts';
import { ifErrno, showPath } from '../platform/index.ts';
import { removeIndex, useIndex } from './scratch-index.ts';

export interface TreeChange {
  /** As bytes in Latin-1, so that reading changes no name. */
  readonly path: string;
  /** `000000` where the tree has nothing. */
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldId: string;
  readonly newId: string;
  /** Of a rename: where the old content was. */
  readonly previousPath?: string;
}

/** A rename is a deletion and an addition, unless renames are requested. */
export async function listTreeChanges(
  git: Git,
  from: string,
  to: string,
  options: { readonly renames?: boolean } = {},
): Promise<TreeChange[]> {
  const how = options.renames === true ? '-M' : '--no-renames';
  const { stdout } = await git.run(['diff-tree', '-r', '-z', '--raw', how, '--no-abbrev', from, to]);
  return parseRawChanges(stdout);
}

/** The last patch's list of changes: worker and host judge the same two trees. */
const MEMORY = 'patch-changes';

/** What differs between two trees, renames found. `gitDir` is ours; git is not asked about the trees of its last patch. */
export async function listRenamedChanges(gitDir: string, from: string, to: string): Promise<TreeChange[]> {
  const memory = await readFile(join(gitDir, MEMORY)).catch(ifErrno(null, 'ENOENT'));
  const title = titleOf(from, to);
  if (memory?.subarray(0, title.length).equals(title) === true)
    return parseRawChanges(memory.subarray(title.length));
  return await listTreeChanges(createGit({ cwd: gitDir, gitDir }), from, to, { renames: true });
}

/** The patch part of `diff-tree -z --raw -p`; the list before it is remembered for {@link listRenamedChanges}. */
export async function takePatch(gitDir: string, from: string, to: string, output: Buffer): Promise<Buffer> {
  const end = endOfRaw(output);
  const memory = Buffer.concat([titleOf(from, to), output.subarray(0, end)]);
  await writeFileAtomic(join(gitDir, MEMORY), memory, { durable: false });
  return output.subarray(end + 1);
}

const titleOf = (from: string, to: string): Buffer => Buffer.from(`${from} ${to}\0`);

/** Each change ends with NUL; one more NUL is between the last of them and the patch. */
function endOfRaw(output: Buffer): number {
  let at = 0;
  while (output[at] === COLON) {
    const header = output.indexOf(0, at);
    const isPair = /[RC]\d*$/.test(output.toString('latin1', at, header));
    const path = output.indexOf(0, header + 1);
    at = 1 + (isPair ? output.indexOf(0, path + 1) : path);
  }
  return at;
}

const COLON = 0x3a;

/** Everything that the commits changed, each compared with each of its parents. */
export async function listCommitChanges(git: Git, commits: readonly string[]): Promise<TreeChange[]> {
  const form = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev', '-m', '--root', '--no-commit-id'];
  const { stdout } = await git.run(['diff-tree', '--stdin', ...form], {
    stdin: commits.map((commit) => `${commit}\n`).join(''),
    timeoutMs: 600_000,
  });
  return parseRawChanges(stdout);
}

function parseRawChanges(output: Buffer): TreeChange[] {
  const fields = output.toString('latin1').split('\0');
  const changes: TreeChange[] = [];
  for (let at = 0; at + 1 < fields.length;) {
    const [oldMode = '', newMode = '', oldId = '', newId = '', status = ''] = (fields[at] ?? '')
      .slice(1)
      .split(' ');
    const isPair = /^[RC]/.test(status);
    const ids = { oldMode, newMode, oldId, newId };
    changes.push(
      isPair
        ? { path: fields[at + 2] ?? '', previousPath: fields[at + 1] ?? '', ...ids }
        : { path: fields[at + 1] ?? '', ...ids },
    );
    at += isPair ? 3 : 2;
  }
  return changes;
}

/** A change with readable names. */
export function describeFile(change: TreeChange): { path: string; previousPath?: string; status: string } {
  const text = (path: string): string => showPath(Buffer.from(path, 'latin1'));
  const { path, previousPath, newMode } = change;
  if (previousPath !== undefined)
    return { path: text(path), previousPath: text(previousPath), status: 'renamed' };
  return { path: text(path), status: /^0+$/.test(newMode) ? 'deleted' : 'changed' };
}

/** One wanted entry of a tree; mode 0 removes it. */
export interface TreeEntry {
  /** Bytes in Latin-1. */
  readonly path: string;
  readonly mode: string;
  readonly id: string;
}

/** What restores a path; of a rename both. */
export function undoOf(change: TreeChange): TreeEntry[] {
  const { path, previousPath, oldMode, oldId } = change;
  if (previousPath !== undefined)
    return [
      { path, mode: '0', id: oldId },
      { path: previousPath, mode: oldMode, id: oldId },
    ];
  return [{ path, mode: /^0+$/.test(oldMode) ? '0' : oldMode, id: oldId }];
}

/** The tree with other entries. `gitDir` is ours. */
export async function rewriteTree(
  gitDir: string,
  tree: string,
  entries: readonly TreeEntry[],
): Promise<string> {
  if (entries.length === 0) return tree;
  const indexFile = useIndex(gitDir);
  const git = createGit({ cwd: gitDir, gitDir, workTree: gitDir, indexFile });
  try {
    await git.run(['read-tree', tree]);
    // Removals come first: a file may come back where a folder was made.
    const ordered = entries.toSorted((one, other) => Number(other.mode === '0') - Number(one.mode === '0'));
    const lines = ordered.map(({ mode, id, path }) => Buffer.from(`${mode} ${id}\t${path}\0`, 'latin1'));
    await git.run(['update-index', '--replace', '-z', '--index-info'], { stdin: Buffer.concat(lines) });
    return await git.text(['write-tree']);
  } finally {
    await removeIndex(indexFile);
  }
}
