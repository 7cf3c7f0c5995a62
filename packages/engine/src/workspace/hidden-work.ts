/**
 * A run that writes ignore rules decides what its own patch leaves out. New files that only such rules ignore are work:
 * no checkpoint has them, so they are named and held back (W2). Files that a command makes again are not (`isDerived`).
 */
import { existsSync, readdirSync, type Dirent } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import {
  createGit,
  findIndexTree,
  listIndexedNames,
  listRenamedChanges,
  makeFolder,
  readBlobs,
  removeTree,
  unlessErrno,
} from '@caisson/ground';

import type { PreparedWorkspace } from './contract.ts';

const MAX_RULES_BYTES = 1024 * 1024;
const MAX_LISTED_BYTES = 256 * 1024 * 1024;
const DERIVED_NAMES = new Set(['node_modules', '__pycache__']);
const DERIVED_MARKS = ['CACHEDIR.TAG', 'pyvenv.cfg'];

/** Files and folders, relative to the workspace; a folder includes its content. */
export async function findHiddenWork(prepared: PreparedWorkspace): Promise<string[]> {
  const { path, gitDir, exclude, attemptDir, kind } = prepared;
  if (kind === 'in-place') return []; // the files stay where they are
  if (!(await mayHaveNewRules(prepared))) return [];
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

const RULES_FILE = '.gitignore';
/** A larger workspace is left to git. */
const MAX_ENTRIES = 5000;

/** Whether the run may have written ignore rules: some are not those of the baseline. */
async function mayHaveNewRules({ path, gitDir, baselineTree, exclude }: PreparedWorkspace): Promise<boolean> {
  const indexFile = join(gitDir, 'index');
  const tree = await findIndexTree(indexFile, baselineTree);
  if (tree === null) return true;
  const index = await readFile(indexFile);
  const tracked = new Set(listIndexedNames(index, baselineTree.length / 2, new Set([RULES_FILE])));
  const found = findRules(path, exclude);
  if (found === null || found.some((name) => !tracked.has(name))) return true;
  const changes = tree === baselineTree ? [] : await listRenamedChanges(gitDir, baselineTree, tree);
  const touched = changes.flatMap((change) => [change.path, change.previousPath ?? '']);
  return touched.some((name) => basename(name) === RULES_FILE);
}

/** Every file with ignore rules, no link followed; null for a repository inside, and where there is too much to look at. */
function findRules(root: string, exclude: readonly string[]): string[] | null {
  const found: string[] = [];
  const folders = [''];
  let seen = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const list = (): Dirent[] => readdirSync(join(root, folder ?? ''), { withFileTypes: true });
    const entries = unlessErrno(list, null, 'EACCES', 'ENAMETOOLONG');
    seen += entries?.length ?? 0;
    if (entries === null || seen > MAX_ENTRIES) return null;
    for (const entry of entries) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (exclude.includes(name) || name === '.git') continue;
      if (entry.name === '.git' || entry.name.includes('\u{fffd}')) return null;
      if (entry.name === RULES_FILE) found.push(name);
      else if (entry.isDirectory()) folders.push(name);
    }
  }
  return found;
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
