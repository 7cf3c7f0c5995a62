/**
 * Saves the commits the agent made in its own git dir. W4: that folder is the agent's word. Its refs are read as
 * plain files, its objects only through a git dir of ours, and what comes over is hashed and checked again. Secrets are
 * taken out of messages and names before anything comes over.
 */
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createGit, GitError, isErrno, objectFormatOf, writeFileAtomic, type Git } from '@caisson/ground';

import { parsePackedHeads } from './agent-git.ts';
import { isFolder, refuseForeignObjects } from './agent-objects.ts';
import { cleanCommits, type Clean } from './clean-commits.ts';
import type { PreparedWorkspace } from './contract.ts';
import { headsPrefix } from './custody.ts';
import { readIfThere } from './locate-repository.ts';

export interface AgentCommits {
  /** Ref of ours → commit of the agent's; the objects are in the custody's store already. */
  readonly refs: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

/** What was saved of the agent's branches, for whoever saves them again. */
const SAVED_HEADS_FILE = 'saved-heads';
const MAX_PACK_BYTES = 1024 * 1024 * 1024;
const MAX_HEADS = 1000;
const MAX_REF_BYTES = 4096;
const MAX_PACKED_REFS_BYTES = 64 * 1024 * 1024;
const MAX_REF_ENTRIES = 20_000;
const REF_NAME = /^(?!.*(\.\.|@\{|\/\/|\.lock(\/|$)|\/\.))[\w][\w./+@=,-]*(?<![./])$/;

/** `isAgain`: what was saved before may have been dropped, and is saved again where that can be done. */
export async function saveAgentCommits(
  prepared: PreparedWorkspace,
  clean: Clean | null,
  { isAgain = false }: { isAgain?: boolean } = {},
): Promise<AgentCommits> {
  const source = join(prepared.attemptDir, 'agent-git');
  const moved = await findMovedHeads(prepared, source);
  if (moved.size === 0) return { refs: new Map(), warnings: [] };
  // Who saves them again, to tidy up, does not know the secrets any more.
  const remembered = await readSavedHeads(prepared);
  const isSaved = [...moved].every(([name, id]) => remembered.get(name)?.from === id);
  const canRepeat = clean !== null || [...remembered.values()].every(({ from, to }) => from === to);
  if (isSaved && !(isAgain && canRepeat)) return { refs: refsOf(remembered), warnings: [] };
  try {
    await refuseForeignObjects(source, prepared.agentGit !== undefined);
    const heads = await saveHeads(prepared, source, moved, clean);
    await writeFileAtomic(join(prepared.attemptDir, SAVED_HEADS_FILE), JSON.stringify([...heads]));
    return { refs: refsOf(heads), warnings: [] };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const names = [...moved.keys()].join(', ');
    return {
      refs: new Map(),
      warnings: [`the agent's commits on ${names} could not be saved: ${error.message}`],
    };
  }
}

/** A branch of the agent's: where it stood, and what was saved for it under which ref. */
interface SavedHead {
  readonly from: string;
  readonly ref: string;
  readonly to: string;
}

const refsOf = (heads: ReadonlyMap<string, SavedHead>): Map<string, string> =>
  new Map([...heads.values()].map(({ ref, to }) => [ref, to]));

async function readSavedHeads({ attemptDir }: PreparedWorkspace): Promise<ReadonlyMap<string, SavedHead>> {
  const text = await readIfThere(join(attemptDir, SAVED_HEADS_FILE));
  return new Map(text === null ? [] : (JSON.parse(text) as [string, SavedHead][]));
}

async function saveHeads(
  prepared: PreparedWorkspace,
  source: string,
  moved: ReadonlyMap<string, string>,
  clean: Clean | null,
): Promise<Map<string, SavedHead>> {
  const { gitDir, runId, attempt, attemptDir } = prepared;
  const reader = createGit({ cwd: gitDir, gitDir, alternates: [join(source, 'objects')] });
  const writer = createGit({ cwd: gitDir, gitDir });
  const ids = [...new Set(moved.values())];
  const have = [...new Set([prepared.baseCommit, prepared.baselineCommit].filter((id) => id !== null))];
  const instead =
    clean === null
      ? new Map<string, string>()
      : await cleanCommits({ reader, writer, heads: ids, have, folder: attemptDir, clean });
  const wanted = [...new Set(ids.map((id) => instead.get(id) ?? id))];
  await transferObjects({ reader, writer, have, wanted, like: prepared.baselineTree });
  const taken = new Set<string>();
  return new Map(
    [...moved].map(([name, from]) => {
      const ref =
        headsPrefix(runId, attempt) + unusedName(clean === null ? name : cleanName(name, clean), taken);
      return [name, { from, ref, to: instead.get(from) ?? from }];
    }),
  );
}

/** A mark has signs that no ref may have. */
function cleanName(name: string, clean: Clean): string {
  const cleaned = clean(Buffer.from(name)).toString('utf8');
  const plain = cleaned.replaceAll(/\[redacted:([^\]]*)\]/g, 'redacted-$1');
  return cleaned === name ? name : plain.replaceAll(/[^\w./+@=,-]+/g, '-');
}

function unusedName(name: string, taken: Set<string>): string {
  let unused = name;
  for (let count = 2; taken.has(unused); count++) unused = `${name}-${count}`;
  taken.add(unused);
  return unused;
}

/** Branches, and a detached HEAD, that are not where the agent was given them. */
async function findMovedHeads(prepared: PreparedWorkspace, source: string): Promise<Map<string, string>> {
  const given = parsePackedHeads((await readIfThere(join(prepared.attemptDir, 'given-refs'))) ?? '');
  const present = new Map([
    ...parsePackedHeads((await readPlain(join(source, 'packed-refs'), MAX_PACKED_REFS_BYTES)) ?? ''),
    ...(await readLooseHeads(source)),
  ]);
  const head = (await readPlain(join(source, 'HEAD')))?.trim() ?? '';
  const length = prepared.baselineTree.length;
  const isId = (text: string): boolean => text.length === length && /^[0-9a-f]+$/.test(text);
  const moved = new Map<string, string>();
  for (const [name, id] of present) {
    if (given.get(name) !== id && isId(id) && REF_NAME.test(name))
      moved.set(name.slice('refs/heads/'.length), id);
  }
  const known = new Set([...given.values(), ...moved.values(), prepared.baseCommit]);
  if (isId(head) && !known.has(head)) moved.set('HEAD', head);
  return new Map([...moved].slice(0, MAX_HEADS));
}

async function readLooseHeads(source: string): Promise<Map<string, string>> {
  const root = join(source, 'refs', 'heads');
  const heads = new Map<string, string>();
  for (const entry of await listFiles(root)) {
    const text = await readPlain(join(root, entry));
    if (text !== null) heads.set(`refs/heads/${entry}`, text.trim());
  }
  return heads;
}

/** Names of the regular files below the folder. No link is entered: Node's own recursive listing would. */
async function listFiles(root: string): Promise<string[]> {
  const files: string[] = [];
  const folders = (await isFolder(root)) ? [''] : [];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      entries += 1;
      if (entries > MAX_REF_ENTRIES || files.length >= MAX_HEADS) return files;
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
      else if (entry.isFile()) files.push(join(folder, entry.name));
    }
  }
  return files;
}

/** Refs are in short regular files; a link may point anywhere on the host, and a pipe would never end. */
async function readPlain(path: string, maxBytes = MAX_REF_BYTES): Promise<string | null> {
  try {
    const found = await lstat(path);
    return found.isFile() && found.size < maxBytes ? await readFile(path, 'utf8') : null;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

async function transferObjects({
  reader,
  writer,
  have,
  wanted,
  like,
}: {
  reader: Git;
  writer: Git;
  have: readonly string[];
  wanted: readonly string[];
  /** An object id, for its length. */
  like: string;
}): Promise<void> {
  const revisions = [...wanted, '--not', ...have].map((line) => `${line}\n`).join('');
  const pack = await reader.run(['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'], {
    stdin: revisions,
    maxOutputBytes: MAX_PACK_BYTES,
    timeoutMs: 600_000,
  });
  if (pack.stdout.length <= emptyPackBytes(like)) return;
  await writer.run(['index-pack', '--stdin', '--strict', '--fix-thin'], {
    stdin: pack.stdout,
    timeoutMs: 600_000,
  });
}

/** A header and a trailing hash: every wanted commit was the user's own. */
function emptyPackBytes(like: string): number {
  return 12 + (objectFormatOf(like) === 'sha256' ? 32 : 20);
}
