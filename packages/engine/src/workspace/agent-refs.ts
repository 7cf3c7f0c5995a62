/**
 * The refs of the agent's git dir, read as plain files (W4). Every ref counts: branches, tags, each entry of the stash,
 * a detached HEAD. Names are any bytes, one a character (latin1).
 */
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isErrno } from '@caisson/ground';

import { isFolder } from './agent-objects.ts';
import type { PreparedWorkspace } from './contract.ts';

const MAX_REFS = 1000;
const MAX_REF_BYTES = 4096;
const MAX_LISTING_BYTES = 64 * 1024 * 1024;
const MAX_ENTRIES = 20_000;

export interface MovedRefs {
  /** Full name → object, where it differs from the agent's start. */
  readonly refs: ReadonlyMap<string, string>;
  /** What the agent has checked out; null when it has no commit. */
  readonly head: string | null;
  /** What exists and was not read, in words. */
  readonly unread: readonly string[];
}

export async function findMovedRefs(prepared: PreparedWorkspace): Promise<MovedRefs> {
  const unread: string[] = [];
  const given = parsePackedRefs(
    await readPlain(prepared.attemptDir, 'given-refs', MAX_LISTING_BYTES, unread),
  );
  const { present, head, heads } = await readPresent(join(prepared.attemptDir, 'agent-git'), unread);
  const { length } = prepared.baselineTree;
  const isId = (text: string): boolean => text.length === length && /^[0-9a-f]+$/.test(text);
  const moved = new Map([...present].filter(([name, id]) => given.get(name) !== id && isId(id)));
  const known = new Set([...given.values(), ...moved.values(), prepared.baseCommit]);
  for (const [name, id] of heads) if (isId(id) && !known.has(id)) moved.set(name, id);
  const checkedOut = present.get(head.replace(/^ref: /, '')) ?? head;
  return { refs: cut(moved, unread), head: isId(checkedOut) ? checkedOut : null, unread };
}

/** Every ref of a repository that an agent made. `head`: what is checked out, a ref or a commit. */
export async function readAllRefs(gitDir: string): Promise<MovedRefs & { readonly head: string }> {
  const unread: string[] = [];
  const { present, head, heads } = await readPresent(gitDir, unread);
  const isId = (id: string): boolean => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(id);
  const refs = new Map([...present].filter(([, id]) => isId(id)));
  const known = new Set(refs.values());
  for (const [name, id] of heads) if (isId(id) && !known.has(id)) refs.set(name, id);
  return { refs: cut(refs, unread), head: head.replace(/^ref: /, ''), unread };
}

interface PresentRefs {
  /** Full name → text of the ref. */
  readonly present: ReadonlyMap<string, string>;
  readonly head: string;
  /** The HEAD of the repository and of its other worktrees, by file. */
  readonly heads: ReadonlyMap<string, string>;
}

async function readPresent(source: string, unread: string[]): Promise<PresentRefs> {
  const read = async (name: string, maxBytes: number): Promise<string> =>
    await readPlain(source, name, maxBytes, unread);
  if (await isFolder(join(source, 'reftable'))) unread.push('refs in the reftable format');
  const present = new Map([
    ...parsePackedRefs(await read('packed-refs', MAX_LISTING_BYTES)),
    ...parseStash(await read('logs/refs/stash', MAX_LISTING_BYTES)),
  ]);
  for (const name of await listFiles(source, 'refs', unread)) {
    if (!name.endsWith('.lock')) present.set(name, (await read(name, MAX_REF_BYTES)).trim());
  }
  const worktrees = (await listFiles(source, 'worktrees', unread)).filter((name) => name.endsWith('/HEAD'));
  const heads = new Map<string, string>();
  for (const name of ['HEAD', ...worktrees]) heads.set(name, (await read(name, MAX_REF_BYTES)).trim());
  return { present, head: heads.get('HEAD') ?? '', heads };
}

function cut(refs: ReadonlyMap<string, string>, unread: string[]): ReadonlyMap<string, string> {
  const rest = refs.size - MAX_REFS;
  if (rest > 0) unread.push(`${rest} more refs than ${MAX_REFS}`);
  return new Map([...refs].slice(0, MAX_REFS));
}

/** The text of a packed-refs file. */
function parsePackedRefs(text: string): Map<string, string> {
  const lines = text.split('\n').filter((line) => /^[0-9a-f]{40,64} refs\//.test(line));
  return new Map(lines.map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]));
}

/** The ref is the newest entry; the older ones are only in its log. */
function parseStash(text: string): [string, string][] {
  const ids = text.split('\n').flatMap((line) => /^[0-9a-f]+ ([0-9a-f]+) /.exec(line)?.[1] ?? []);
  return ids
    .slice(0, -1)
    .toReversed()
    .map((id, index) => [`refs/stash@{${index + 1}}`, id]);
}

/** Names of the regular files below the folder. No link is followed: Node's own recursive listing would. */
async function listFiles(source: string, top: string, unread: string[]): Promise<string[]> {
  const files: string[] = [];
  const folders = (await isFolder(join(source, top))) ? [top] : [];
  let seen = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const options = { withFileTypes: true, encoding: 'buffer' } as const;
    for (const entry of await readdir(placeOf(source, folder), options)) {
      seen += 1;
      if (seen > MAX_ENTRIES) {
        unread.push(`more than ${MAX_ENTRIES} files in ${top}`);
        return files;
      }
      const name = `${folder}/${entry.name.toString('latin1')}`;
      if (entry.isDirectory()) folders.push(name);
      else if (entry.isFile()) files.push(name);
    }
  }
  return files;
}

function placeOf(source: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${source}/`), Buffer.from(name, 'latin1')]);
}

/** Refs are in short regular files; a link may point anywhere on the host, and a pipe would never end. */
async function readPlain(source: string, name: string, maxBytes: number, unread: string[]): Promise<string> {
  const path = placeOf(source, name);
  try {
    const found = await lstat(path);
    if (found.isFile() && found.size < maxBytes) return await readFile(path, 'latin1');
    if (!found.isSymbolicLink()) unread.push(name);
    return '';
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return '';
    throw error;
  }
}
