/**
 * Our own git dir, written file by file without a process. Its `info/attributes` outranks every `.gitattributes`, so
 * that contents pass through git unchanged and no driver of a repository is ever used.
 */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath, writeFileAtomic } from '../files/index.ts';
import { ifErrno } from '../platform/index.ts';

export type ObjectFormat = 'sha1' | 'sha256';

export interface OwnGitDirOptions {
  readonly path: string;
  readonly objectFormat: ObjectFormat;
  /** Where objects are read and written. Without it the git dir has its own store. */
  readonly objectDir?: string;
  /** Text of the ignore rules that apply besides the workspace's own `.gitignore` files. */
  readonly ignoreRules?: string;
  /** Text of the `shallow` file of the repository whose objects are used. */
  readonly shallow?: string;
  /** Survive a power cut: for one that is used for longer than a run. Default false. */
  readonly durable?: boolean;
}

export const EMPTY_TREE: Readonly<Record<ObjectFormat, string>> = {
  sha1: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  sha256: '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
};

/** No conversion on the way in or out, the built-in diff and merge, whatever the repository configures. */
export const EXACT_ATTRIBUTES =
  '* -text !eol -crlf -ident -filter !working-tree-encoding !diff !merge !whitespace -export-subst !conflict-marker-size\n';

/** May be made again over one that is torn: the store that is there stays. */
export async function createOwnGitDir(options: OwnGitDirOptions): Promise<void> {
  const at = (name: string): string => join(options.path, name);
  await Promise.all([
    mkdir(at('refs'), { recursive: true, mode: 0o700 }),
    mkdir(at('info'), { recursive: true }),
  ]);
  await Promise.all([
    writeFile(at('config'), configText(options.objectFormat)),
    writeFile(at('info/attributes'), EXACT_ATTRIBUTES),
    writeFile(at('info/exclude'), options.ignoreRules ?? ''),
    options.objectDir === undefined
      ? mkdir(at('objects/pack'), { recursive: true })
      : symlink(options.objectDir, at('objects')).catch(ifErrno(undefined, 'EEXIST')),
    options.shallow === undefined ? undefined : writeFile(at('shallow'), options.shallow),
  ]);
  const durable = options.durable ?? false;
  const made = [
    'config',
    'info/attributes',
    'info/exclude',
    'info',
    'refs',
    'objects',
    'objects/pack',
    '',
    '..',
  ];
  if (durable) await Promise.all(made.map((name) => syncPath(at(name))));
  // Last and in one step: a git dir with a HEAD counts as complete, also after a crash.
  await writeFileAtomic(at('HEAD'), 'ref: refs/heads/none\n', { durable });
}

function configText(objectFormat: ObjectFormat): string {
  return objectFormat === 'sha256'
    ? '[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n'
    : '[core]\n\trepositoryFormatVersion = 0\n';
}

/** An object id shows its format by its length. */
export function objectFormatOf(objectId: string): ObjectFormat {
  return objectId.length === 64 ? 'sha256' : 'sha1';
}

/** The tree without entries, in the format of `like`. */
export function emptyTreeLike(like: string): string {
  return EMPTY_TREE[objectFormatOf(like)];
}
