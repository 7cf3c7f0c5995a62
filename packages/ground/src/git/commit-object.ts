/** A commit as `git commit-tree` makes it, without a process. */
import { createHash } from 'node:crypto';
import { writeLooseObject } from './loose-object.ts';
import { objectFormatOf } from './own-git-dir.ts';

export interface CommitContent {
  readonly tree: string;
  readonly parents: readonly string[];
  /** `NAME <ADDRESS>`, of author and committer. */
  readonly by: string;
  /** Of our own words: without NUL, and in UTF-8. */
  readonly message: string;
  readonly at: Date;
}

/**
 * Writes it to a store and returns its id. Whether the store has its tree and its parents is not checked, and it is not on
 * disk for sure: both is done before a ref names it.
 */
export async function writeCommit(objectDir: string, content: CommitContent): Promise<string> {
  const { tree, parents, by, at, message } = content;
  const who = `${by} ${Math.floor(at.getTime() / 1000)} ${zoneOf(at)}`;
  const lines = [
    `tree ${tree}`,
    ...new Set(parents.map((parent) => `parent ${parent}`)),
    `author ${who}`,
    `committer ${who}`,
  ];
  const bytes = Buffer.from(`${lines.join('\n')}\n\n${message}`);
  const hash = createHash(objectFormatOf(tree)).update(`commit ${bytes.length}\0`).update(bytes);
  const id = hash.digest('hex');
  await writeLooseObject(objectDir, { kind: 'commit', id, bytes });
  return id;
}

/** As git writes it: `+0130` is east of Greenwich. */
function zoneOf(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}${String(rest).padStart(2, '0')}`;
}
