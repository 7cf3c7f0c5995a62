/**
 * Saves the commits the agent made in its own git dir. W4: that folder is untrusted input. Its refs are read as plain
 * files, its objects only through our git dir, and what is copied is hashed and checked again. Secrets are removed from
 * messages and names before anything is copied.
 */
import { join } from 'node:path';

import { createGit, GitError, objectFormatOf, writeFileAtomic, type Git } from '@caisson/ground';

import { refuseForeignObjects } from './agent-objects.ts';
import { findMovedRefs } from './agent-refs.ts';
import { cleanCommits, type Clean } from './clean-commits.ts';
import type { PreparedWorkspace } from './contract.ts';
import { headsPrefix } from './custody.ts';
import { readIfThere } from './locate-repository.ts';
import { nameSome } from './name-some.ts';
import { createNaming, showName } from './saved-names.ts';

export interface AgentCommits {
  /** Our ref → the agent's commit; the objects are already in the custody's store. */
  readonly refs: ReadonlyMap<string, string>;
  /** Those of the refs with commits that are not below the commit of the agent's files. */
  readonly beside: ReadonlySet<string>;
  readonly warnings: readonly string[];
}

/** What was saved of the agent's refs, for a later save. */
const SAVED_HEADS_FILE = 'saved-heads';
const MAX_PACK_BYTES = 1024 * 1024 * 1024;

/** `isAgain`: what was saved before may have been dropped, and is saved again if possible. */
export async function saveAgentCommits(
  prepared: PreparedWorkspace,
  clean: Clean | null,
  { isPatchEmpty, isAgain }: { isPatchEmpty: boolean; isAgain: boolean },
): Promise<AgentCommits> {
  const { refs: moved, head, unread } = await findMovedRefs(prepared);
  const lost = unread.map((what) => `some of the agent's commits were not saved: ${what}; ${WHERE}`);
  if (moved.size === 0) return { ...toCommits(new Map()), warnings: lost };
  // A later clean-up does not know the secrets any more.
  const remembered = await readSavedHeads(prepared);
  const isSaved = [...moved].every(([name, id]) => remembered.get(name)?.from === id);
  const isUncleaned = [...remembered.values()].every(
    ({ from, saved }) => saved === null || saved.to === from,
  );
  const canRepeat = clean !== null || isUncleaned;
  if (isSaved && !(isAgain && canRepeat))
    return { ...toCommits(remembered), warnings: [...lost, ...describeHeads(remembered)] };
  try {
    const heads = await saveHeads(prepared, moved, isPatchEmpty ? null : head, clean);
    await writeFileAtomic(join(prepared.attemptDir, SAVED_HEADS_FILE), JSON.stringify([...heads]));
    return { ...toCommits(heads), warnings: [...lost, ...describeHeads(heads)] };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const names = nameSome([...moved.keys()].map((name) => showName(name, clean)));
    return {
      ...toCommits(new Map()),
      warnings: [...lost, `the agent's commits on ${names} could not be saved: ${error.message}; ${WHERE}`],
    };
  }
}

/** Whether the agent's git dir names commits that no ref of ours and no bundle has. */
export async function hasUnsavedCommits(prepared: PreparedWorkspace): Promise<boolean> {
  const { refs, unread } = await findMovedRefs(prepared);
  const saved = await readSavedHeads(prepared);
  return unread.length > 0 || [...refs].some(([name, id]) => !isKept(saved.get(name), id));
}

const isKept = (head: SavedHead | undefined, id: string): boolean => head?.from === id && head.saved !== null;

const WHERE = 'the removed workspace is kept for it (caisson gc names it)';

/** A ref of the agent: its commit, and the ref under which it was saved. */
interface SavedHead {
  readonly from: string;
  /** Null: it names no commit. */
  readonly saved: { readonly ref: string; readonly to: string; readonly isBeside: boolean } | null;
  /** Its readable name, if the ref has another. */
  readonly shown?: string;
}

function toCommits(heads: ReadonlyMap<string, SavedHead>): Pick<AgentCommits, 'refs' | 'beside'> {
  const all = [...heads.values()].flatMap(({ saved }) => saved ?? []);
  return {
    refs: new Map(all.map(({ ref, to }) => [ref, to])),
    beside: new Set(all.filter(({ isBeside }) => isBeside).map(({ ref }) => ref)),
  };
}

function describeHeads(heads: ReadonlyMap<string, SavedHead>): string[] {
  const named = [...heads.values()].filter(({ shown }) => shown !== undefined);
  const lost = named.filter(({ saved }) => saved === null).map(({ shown, from }) => `${shown} (${from})`);
  const renamed = named.flatMap(({ saved, shown }) => (saved === null ? [] : [`${shown} as ${saved.ref}`]));
  return [
    ...(lost.length === 0
      ? []
      : [`the agent's ${nameSome(lost)} could not be saved: there is no such commit; ${WHERE}`]),
    ...(renamed.length === 0 ? [] : [`the agent's commits are kept under other names: ${nameSome(renamed)}`]),
  ];
}

async function readSavedHeads({ attemptDir }: PreparedWorkspace): Promise<ReadonlyMap<string, SavedHead>> {
  const text = await readIfThere(join(attemptDir, SAVED_HEADS_FILE));
  return new Map(text === null ? [] : (JSON.parse(text) as [string, SavedHead][]));
}

async function saveHeads(
  prepared: PreparedWorkspace,
  moved: ReadonlyMap<string, string>,
  /** The commits in the patch. */
  shown: string | null,
  clean: Clean | null,
): Promise<Map<string, SavedHead>> {
  const { gitDir, attemptDir } = prepared;
  const source = join(attemptDir, 'agent-git');
  await refuseForeignObjects(source, prepared.agentGit !== undefined);
  const reader = createGit({ cwd: gitDir, gitDir, alternates: [join(source, 'objects')] });
  const writer = createGit({ cwd: gitDir, gitDir });
  const commits = await findCommits(reader, [...new Set(moved.values())]);
  const ids = [...new Set(commits.values())];
  const have = [...new Set([prepared.baseCommit, prepared.baselineCommit].filter((id) => id !== null))];
  const instead =
    clean === null
      ? new Map<string, string>()
      : await cleanCommits({ reader, writer, heads: ids, have, folder: attemptDir, clean });
  const wanted = [...new Set(ids.map((id) => instead.get(id) ?? id))];
  await transferObjects({ reader, writer, have, wanted, baselineTree: prepared.baselineTree });
  const beside = await findBeside(reader, ids, [...have, ...(shown === null ? [] : [shown])]);
  const nameRef = createNaming(headsPrefix(prepared.runId, prepared.attempt), clean);
  return new Map(
    [...moved].map(([name, from]): [string, SavedHead] => {
      const commit = commits.get(from);
      if (commit === undefined) return [name, { from, saved: null, shown: showName(name, clean) }];
      const { ref, isOther } = nameRef(name);
      const saved = { ref, to: instead.get(commit) ?? commit, isBeside: beside.has(commit) };
      return [name, { from, saved, ...(isOther ? { shown: showName(name, clean) } : {}) }];
    }),
  );
}

/** The object itself or, for a tag, its target; those without a commit are not in it. */
export async function findCommits(reader: Git, ids: readonly string[]): Promise<Map<string, string>> {
  const stdin = ids.map((id) => `${id}^{commit}\n`).join('');
  const lines = (await reader.text(['cat-file', '--batch-check=%(objectname)'], { stdin })).split('\n');
  return new Map(
    ids.flatMap((id, index) => {
      const found = lines[index] ?? '';
      return found.includes(' ') || found === '' ? [] : [[id, found]];
    }),
  );
}

/** Commits that `shown` does not have, or that are based on such ones. */
async function findBeside(
  reader: Git,
  commits: readonly string[],
  shown: readonly string[],
): Promise<Set<string>> {
  const beside = new Set<string>();
  for (const commit of commits.filter((id) => !shown.includes(id))) {
    const listed = await reader.text(['rev-list', '--max-count=1', commit, '--not', ...shown, '--']);
    if (listed !== '') beside.add(commit);
  }
  return beside;
}

async function transferObjects({
  reader,
  writer,
  have,
  wanted,
  baselineTree,
}: {
  reader: Git;
  writer: Git;
  have: readonly string[];
  wanted: readonly string[];
  baselineTree: string;
}): Promise<void> {
  const revisions = [...wanted, '--not', ...have, baselineTree].map((line) => `${line}\n`).join('');
  const pack = await reader.run(['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'], {
    stdin: revisions,
    maxOutputBytes: MAX_PACK_BYTES,
    timeoutMs: 600_000,
  });
  if (pack.stdout.length <= emptyPackBytes(baselineTree)) return;
  await writer.run(['index-pack', '--stdin', '--strict', '--fix-thin'], {
    stdin: pack.stdout,
    timeoutMs: 600_000,
  });
}

/** A header and a trailing hash: every wanted commit was the user's own. */
function emptyPackBytes(like: string): number {
  return 12 + (objectFormatOf(like) === 'sha256' ? 32 : 20);
}
