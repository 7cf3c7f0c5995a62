/** The refs of a repository that an agent made, as one bundle: `git clone` gets all of them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import {
  createGit,
  createOwnGitDir,
  GitError,
  makeFolder,
  objectFormatOf,
  publishFile,
  type Git,
} from '@caisson/ground';

import { findCommits } from './agent-commits.ts';
import { holdsOwnObjects } from './agent-objects.ts';
import { cleanCommits, type Clean } from './clean-commits.ts';
import { createNaming, showName } from './saved-names.ts';

export interface BundleOptions {
  /** The git dir. */
  readonly source: string;
  /** Full name → object. */
  readonly refs: ReadonlyMap<string, string>;
  /** What is checked out, a ref or a commit. */
  readonly head: string;
  readonly file: string;
  /** For files that live as long as this call. */
  readonly folder: string;
  readonly clean: Clean | null;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface WrittenBundle {
  /** The refs whose commits are in it; those that name no commit are not. */
  readonly refs: ReadonlyMap<string, string>;
  readonly bytes: number;
  /** Refs with another name than the agent's, in words. */
  readonly renamed: readonly string[];
}

export async function writeNestedBundle(options: BundleOptions): Promise<WrittenBundle> {
  if (!(await holdsOwnObjects(options.source)))
    throw new GitError('its object store borrows from somewhere else, or has links in it', '');
  const folder = await mkdtemp(join(options.folder, 'nested-'));
  try {
    const { named, bundle } = await packRefs(options, folder);
    const draft = join(folder, 'history.bundle');
    await writeFile(draft, bundle, { mode: 0o600 });
    makeFolder(dirname(options.file));
    await publishFile(draft, options.file);
    return {
      refs: new Map(named.map(({ name, from }) => [name, from])),
      bytes: bundle.length,
      renamed: named.flatMap(({ name, ref, isOther }) =>
        isOther ? [`${showName(name, options.clean)} as ${ref.replace(/^refs\/(heads\/)?/, '')}`] : [],
      ),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface NamedRef {
  readonly name: string;
  readonly from: string;
  readonly ref: string;
  readonly isOther: boolean;
  readonly commit: string;
}

async function packRefs(
  { source, refs, head, clean, maxBytes, signal }: BundleOptions,
  folder: string,
): Promise<{ named: readonly NamedRef[]; bundle: Buffer }> {
  const gitDir = join(folder, 'git');
  const ids = [...new Set(refs.values())];
  await createOwnGitDir({ path: gitDir, objectFormat: objectFormatOf(ids[0] ?? '') });
  const git = createGit({ cwd: gitDir, gitDir, alternates: [join(source, 'objects')], signal });
  const commits = await findCommits(git, ids);
  const heads = [...new Set(commits.values())];
  if (heads.length === 0) throw new GitError('its refs name no commit that it has', '');
  const instead =
    clean === null
      ? new Map<string, string>()
      : await cleanCommits({ reader: git, writer: git, heads, have: [], folder, clean });
  const nameRef = createNaming('refs/heads/', clean);
  const named = [...refs].flatMap(([name, from]): NamedRef[] => {
    const commit = commits.get(from);
    if (commit === undefined) return [];
    const { ref, isOther } = nameRef(name.replace(/^(refs\/heads\/)?HEAD$/, 'detached-head'));
    const place = ref.replace(/^refs\/heads\/tags\//, 'refs/tags/');
    return [{ name, from, ref: place, isOther, commit: instead.get(commit) ?? commit }];
  });
  const checkedOut = named.find(({ name, from }) => name === head || from === head) ?? named[0];
  const bundle = await makeBundle(git, named, { head: checkedOut?.ref ?? '', maxBytes });
  return { named, bundle };
}

async function makeBundle(
  git: Git,
  named: readonly NamedRef[],
  { head, maxBytes }: { head: string; maxBytes: number },
): Promise<Buffer> {
  const updates = named.map(({ ref, commit }) => `update ${ref} ${commit}\n`).join('');
  await git.run(['update-ref', '--stdin'], { stdin: updates });
  await git.run(['symbolic-ref', 'HEAD', head]);
  const stdin = ['HEAD', ...named.map(({ ref }) => ref)].map((ref) => `${ref}\n`).join('');
  const timeoutMs = 600_000; // the signal comes earlier
  const options = { stdin, maxOutputBytes: maxBytes, timeoutMs };
  return (await git.run(['bundle', 'create', '--quiet', '-', '--stdin'], options)).stdout;
}
