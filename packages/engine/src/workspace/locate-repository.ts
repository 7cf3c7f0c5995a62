/** Finds the repository of a folder and the relevant user's settings, most often without a process. */
import { constants } from 'node:fs';
import { access, lstat, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';

import {
  createGit,
  findDiskTrouble,
  ifErrno,
  isErrno,
  ownUid,
  objectFormatOf,
  readRefFiles,
  readUserGitConfig,
  type ObjectFormat,
  type Ref,
} from '@caisson/ground';

import { WorkspaceError } from './errors.ts';
import { readGitFile } from './git-dir-file.ts';
import type { FetchedBase } from './remote-contract.ts';

/** Every ref of ours is below it. */
export const NAMESPACE = 'refs/caisson';

export interface Repository {
  /** Top of the user's working files. */
  readonly top: string;
  /** The git dir of this working tree; differs from `commonDir` in a linked worktree. */
  readonly gitDir: string;
  readonly commonDir: string;
  readonly objectDir: string;
  /** The object folders that `objectDir` borrows from. */
  readonly borrowedDirs: readonly string[];
  readonly objectFormat: ObjectFormat;
  /** `refs/heads/…`, or null when HEAD is detached. */
  readonly headRef: string | null;
  /** Null before the first commit. */
  readonly headCommit: string | null;
  readonly config: ReadonlyMap<string, string>;
  /** Where its history ends, as lines of ids; null where it is whole. */
  readonly shallow: string | null;
  /** Our copy of a remote repository: the refs that an agent sees of it, and its address. */
  readonly fetched?: { readonly url: string; readonly refs: readonly Ref[] };
}

export interface UserFolders {
  readonly home: string;
  readonly xdgConfigHome: string;
}

/** Null when no folder above has a `.git`. Throws {@link WorkspaceError} for repositories it cannot handle. */
export async function findRepository(folder: string, user: UserFolders): Promise<Repository | null> {
  const found = await findGitDir(await realpath(folder));
  if (found === null) return null;
  const commonDir = await resolveCommonDir(found.gitDir);
  const objectDir = join(commonDir, 'objects');
  await readGitFile(commonDir, 'packed-refs'); // git repeats a line that it does not understand
  const [config, head, borrowedDirs, shallow] = await Promise.all([
    readUserGitConfig({ gitDir: found.gitDir, commonDir, cwd: found.top, ...user }),
    resolveHead(found, commonDir),
    readAlternates(objectDir, 0),
    readGitFile(commonDir, 'shallow'),
  ]);
  refuseOddRepository(found, config);
  return {
    ...found,
    commonDir,
    objectDir,
    borrowedDirs,
    objectFormat: config.get('extensions.objectformat') === 'sha256' ? 'sha256' : 'sha1',
    ...head,
    config,
    shallow: shallow === null ? null : listIds(shallow),
  };
}

/** Our copy of a remote, as the repository of a run: `top` is where the agent sees its files. */
export async function openFetched(base: FetchedBase, top: string, user: UserFolders): Promise<Repository> {
  const { dir, url, ref, commit } = base;
  const isBranch = ref.startsWith('refs/heads/');
  const tracked = ref.replace(/^refs\/heads\//, 'refs/remotes/origin/');
  const names = isBranch ? [ref, tracked] : ref.startsWith('refs/') ? [ref] : [];
  return {
    ...{ top, gitDir: dir, commonDir: dir, objectDir: join(dir, 'objects'), borrowedDirs: [] },
    objectFormat: objectFormatOf(commit),
    headRef: isBranch ? ref : null,
    headCommit: commit,
    config: await readUserGitConfig({ gitDir: dir, commonDir: dir, cwd: dir, ...user }),
    shallow: null,
    fetched: { url, refs: names.map((name) => ({ name, objectId: commit })) },
  };
}

interface FoundGitDir {
  readonly top: string;
  readonly gitDir: string;
}

/** The nearest folder above, or the folder itself, that is the top of a repository; null when there is none. */
export async function findTop(folder: string): Promise<string | null> {
  return (await findGitDir(await realpath(folder)))?.top ?? null;
}

/** A repository of another user above us does not count: it would make their folder our project. */
async function findGitDir(start: string): Promise<FoundGitDir | null> {
  const owners = new Set([ownUid(), 0, (await stat(start)).uid]);
  for (let folder = start; ; folder = dirname(folder)) {
    const gitDir = await readDotGit(folder);
    if (gitDir !== null && owners.has((await lstat(join(folder, '.git'))).uid))
      return { top: folder, gitDir };
    if (folder === dirname(folder)) return null;
  }
}

/** `.git` is a folder with a HEAD, or a file that names one; an empty or dangling one does not count. */
async function readDotGit(folder: string): Promise<string | null> {
  const dotGit = join(folder, '.git');
  try {
    const named = (await stat(dotGit)).isDirectory()
      ? dotGit
      : /^gitdir: (.+?)\n?$/s.exec(await readFile(dotGit, 'utf8'))?.[1];
    if (named === undefined) return null;
    const gitDir = await realpath(resolve(folder, named));
    return (await exists(join(gitDir, 'HEAD'))) ? gitDir : null;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
}

async function resolveCommonDir(gitDir: string): Promise<string> {
  const text = await readIfThere(join(gitDir, 'commondir'));
  return text === null ? gitDir : await realpath(resolve(gitDir, text.replace(/\n$/, '')));
}

/** Baseline and checkpoints are kept in the repository; a read-only one would lose the work at the end. */
export async function demandWritable({ top, commonDir, objectDir }: Repository): Promise<void> {
  for (const folder of [objectDir, join(commonDir, 'refs')]) {
    try {
      await access(folder, constants.W_OK);
    } catch (error) {
      const trouble = findDiskTrouble(error, folder);
      const why = trouble?.what ?? `${(error as NodeJS.ErrnoException).code} on ${folder}`;
      throw new WorkspaceError(`The repository ${top} cannot keep a run's work: ${why}.`, {
        cause: error,
        remedy:
          trouble?.remedy ??
          'Make its .git writable for this user, or clone it and work there; --workspace empty needs none.',
      });
    }
  }
}

/** Every ref of the repository but ours, which are backups; of our copy of a remote only the base: the rest is other runs'. */
export async function listRefs(repository: Repository): Promise<readonly Ref[]> {
  const { gitDir, commonDir, fetched } = repository;
  if (fetched !== undefined) return fetched.refs;
  // A linked worktree has refs of its own beside the common ones.
  const read = gitDir === commonDir ? await readRefFiles(commonDir, NAMESPACE) : null;
  if (read !== null) return read;
  const git = createGit({ cwd: repository.top, gitDir: repository.gitDir, foreign: true });
  const text = await git.text(['for-each-ref', '--format=%(objectname) %(refname)']);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ objectId: line.slice(0, line.indexOf(' ')), name: line.slice(line.indexOf(' ') + 1) }))
    .filter(({ name }) => !name.startsWith(`${NAMESPACE}/`));
}

const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
const MAX_ALTERNATE_DEPTH = 5;

async function readAlternates(objectDir: string, depth: number): Promise<string[]> {
  const text = await readIfThere(join(objectDir, 'info', 'alternates'));
  if (text === null || depth > MAX_ALTERNATE_DEPTH) return [];
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const folders = lines.map((line) => (isAbsolute(line) ? line : resolve(objectDir, line)));
  const deeper = await Promise.all(folders.map((folder) => readAlternates(folder, depth + 1)));
  return [...new Set([...folders, ...deeper.flat()])];
}

function refuseOddRepository(found: FoundGitDir, config: ReadonlyMap<string, string>): void {
  if (config.get('core.bare') === 'true' && config.get('extensions.worktreeconfig') !== 'true') {
    throw new WorkspaceError(
      `The repository ${found.gitDir} is bare: it has no working files to start from.`,
      {
        remedy: 'Run from a clone or a worktree of it, or use --workspace empty.',
      },
    );
  }
  const elsewhere = config.get('core.worktree');
  if (elsewhere !== undefined && resolve(found.gitDir, elsewhere) !== found.top) {
    throw new WorkspaceError(
      `The repository ${found.gitDir} keeps its working files at ${elsewhere}, not at ${found.top}.`,
      {
        remedy: `Run from ${resolve(found.gitDir, elsewhere)}, or use --workspace in-place outside git.`,
      },
    );
  }
}

/** Read from files, as git stores them; only another ref store (reftable) needs a process. */
async function resolveHead(
  found: FoundGitDir,
  commonDir: string,
): Promise<{ headRef: string | null; headCommit: string | null }> {
  const text = (await readFile(join(found.gitDir, 'HEAD'), 'utf8')).trim();
  if (OBJECT_ID.test(text)) return { headRef: null, headCommit: text };
  const headRef = text.replace(/^ref: */, '');
  const isPlain = headRef.startsWith('refs/heads/') && headRef !== 'refs/heads/.invalid';
  if (!isPlain) return await askForHead(found);
  const loose = (await readIfThere(join(commonDir, headRef)))?.trim();
  if (loose !== undefined)
    return OBJECT_ID.test(loose) ? { headRef, headCommit: loose } : await askForHead(found);
  const packed = (await readGitFile(commonDir, 'packed-refs')) ?? '';
  const line = packed.split('\n').find((entry) => entry.endsWith(` ${headRef}`));
  return { headRef, headCommit: line?.slice(0, line.indexOf(' ')) ?? null };
}

async function askForHead(
  found: FoundGitDir,
): Promise<{ headRef: string | null; headCommit: string | null }> {
  const git = createGit({ cwd: found.top, gitDir: found.gitDir, foreign: true });
  const ask = async (args: readonly string[]): Promise<string | null> => {
    const { exitCode, stdout } = await git.run(args, { okExitCodes: [0, 1, 128] });
    return exitCode === 0 ? stdout.toString('utf8').trim() : null;
  };
  const [headRef, headCommit] = await Promise.all([
    ask(['symbolic-ref', '--quiet', 'HEAD']),
    ask(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']),
  ]);
  return { headRef, headCommit };
}

/** Nothing but ids: an agent gets this text. */
function listIds(text: string): string {
  const ids = text.split('\n').filter((line) => OBJECT_ID.test(line));
  return ids.map((id) => `${id}\n`).join('');
}

async function exists(path: string): Promise<boolean> {
  return (await readIfThere(path)) !== null;
}

/** The file's text, or null when it is not there. */
export async function readIfThere(path: string): Promise<string | null> {
  return await readFile(path, 'utf8').catch(ifErrno(null, 'ENOENT', 'ENOTDIR', 'EISDIR'));
}
