/** What differs between two trees, path by path; a rename is a deletion and an addition. */
import type { Git } from './git.ts';

export interface TreeChange {
  /** As bytes in Latin-1, so that no name is changed by reading it. */
  readonly path: string;
  /** `000000` where the tree has nothing. */
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldId: string;
  readonly newId: string;
}

export async function listTreeChanges(git: Git, from: string, to: string): Promise<TreeChange[]> {
  const form = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev'];
  const { stdout } = await git.run(['diff-tree', ...form, from, to]);
  const fields = stdout.toString('latin1').split('\0');
  const changes: TreeChange[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = '', newMode = '', oldId = '', newId = ''] = (fields[at] ?? '').slice(1).split(' ');
    changes.push({ path: fields[at + 1] ?? '', oldMode, newMode, oldId, newId });
  }
  return changes;
}
