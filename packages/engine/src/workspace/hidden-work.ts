/**
 * A run that writes ignore rules decides what its own patch leaves out. New files that only such rules ignore are work:
 * no checkpoint has them, so they are named and held back (W2). Files that a command makes again are not (`isDerived`).
 */
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { createGit, makeFolder, readBlobs, removeTree } from '@caisson/ground';

import type { PreparedWorkspace } from './contract.ts';

const MAX_RULES_BYTES = 1024 * 1024;
const MAX_LISTED_BYTES = 256 * 1024 * 1024;
const DERIVED_NAMES = new Set(['node_modules', '__pycache__']);
const DERIVED_MARKS = ['CACHEDIR.TAG', 'pyvenv.cfg'];

/** Files and folders, relative to the workspace; a folder includes its content. */
export async function findHiddenWork(prepared: PreparedWorkspace): Promise<string[]> {
  const { path, gitDir, exclude, attemptDir, kind } = prepared;
  if (kind === 'in-place') return []; // the files stay where they are
  const git = createGit({ cwd: path, gitDir, workTree: path });
  const pathspec = ['.', ...exclude.map((name) => `:(top,exclude,literal)${name}`)];
  const listed = await git.run(
    ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory', '--', ...pathspec],
    { maxOutputBytes: MAX_LISTED_BYTES },
  );
  const ignored = splitNames(listed.stdout).filter((name) => !isDerived(path, name));
  if (ignored.length === 0) return [];
  const place = await mkdtemp(join(attemptDir, 'rules-'));
  try {
    await writeRules(prepared, place);
    // Whether a folder is ignored is checked with a path inside it: git has no real folder here to check.
    const asked = ignored.map((name) => (name.endsWith('/') ? `${name}x` : name));
    const before = await createGit({ cwd: place, gitDir, workTree: place }).run(
      ['check-ignore', '--no-index', '-z', '--stdin'],
      {
        stdin: asked.map((name) => `${name}\0`).join(''),
        okExitCodes: [0, 1],
        maxOutputBytes: MAX_LISTED_BYTES,
      },
    );
    const known = new Set(splitNames(before.stdout));
    return ignored
      .filter((_, index) => !known.has(asked[index] ?? ''))
      .map((name) => name.replace(/\/$/, ''));
  } finally {
    await removeTree(place);
  }
}

/** The ignore rules as the run found them. */
async function writeRules({ gitDir, baselineTree }: PreparedWorkspace, place: string): Promise<void> {
  const git = createGit({ cwd: gitDir, gitDir });
  const listed = await git.run(['ls-tree', '-r', '-z', baselineTree], { maxOutputBytes: MAX_LISTED_BYTES });
  const rules = splitNames(listed.stdout).flatMap((line) => {
    const [, id, name] = /^100\d+ blob (\S+)\t((?:.*\/)?\.gitignore)$/s.exec(line) ?? [];
    return id === undefined || name === undefined ? [] : [{ id, name }];
  });
  const texts = await readBlobs(
    git,
    rules.map(({ id }) => id),
    MAX_RULES_BYTES,
  );
  for (const { id, name } of rules) {
    makeFolder(join(place, dirname(name)));
    await writeFile(join(place, name), texts.get(id) ?? '');
  }
}

/** Installed packages and caches, by their name or the mark that their tool puts into them. */
function isDerived(root: string, name: string): boolean {
  const folders = name.endsWith('/') ? [name.slice(0, -1)] : [];
  for (let at = dirname(folders[0] ?? name); at !== '.'; at = dirname(at)) folders.push(at);
  return folders.some(
    (folder) =>
      DERIVED_NAMES.has(basename(folder)) ||
      DERIVED_MARKS.some((mark) => existsSync(join(root, folder, mark))),
  );
}

export function splitNames(output: Buffer): string[] {
  return output.toString('utf8').split('\0').filter(Boolean);
}
