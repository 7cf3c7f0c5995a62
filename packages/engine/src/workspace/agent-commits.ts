/**
 * Saves the commits the agent made in its own git dir. W4: that folder is the agent's word. Its refs are read as
 * plain files, its objects only through a git dir of ours, and what comes over is hashed and checked again.
 */
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createGit, GitError, isErrno, objectFormatOf } from '@caisson/ground';

import { readPackedHeads } from './agent-git.ts';
import type { PreparedWorkspace } from './contract.ts';
import { headsPrefix } from './custody.ts';
import { readIfThere } from './locate-repository.ts';

export interface AgentCommits {
  /** Ref of ours → commit of the agent's; the objects are in the custody's store already. */
  readonly refs: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

const MAX_PACK_BYTES = 1024 * 1024 * 1024;
const MAX_HEADS = 1000;
const REF_NAME = /^(?!.*(\.\.|@\{|\/\/|\.lock(\/|$)|\/\.))[\w][\w./+@=,-]*(?<![./])$/;

export async function saveAgentCommits(prepared: PreparedWorkspace): Promise<AgentCommits> {
  const source = join(prepared.attemptDir, 'agent-git');
  const moved = await findMovedHeads(prepared, source);
  if (moved.size === 0) return { refs: new Map(), warnings: [] };
  try {
    await refuseForeignObjects(source);
    await transferObjects(prepared, source, [...new Set(moved.values())]);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const names = [...moved.keys()].join(', ');
    return {
      refs: new Map(),
      warnings: [`the agent's commits on ${names} could not be saved: ${error.message}`],
    };
  }
  const prefix = headsPrefix(prepared.runId, prepared.attempt);
  return { refs: new Map([...moved].map(([name, id]) => [prefix + name, id])), warnings: [] };
}

/** Branches, and a detached HEAD, that are not where the agent was given them. */
async function findMovedHeads(prepared: PreparedWorkspace, source: string): Promise<Map<string, string>> {
  const given = await readPackedHeads(join(prepared.attemptDir, 'given-refs'));
  const present = new Map([
    ...(await readPackedHeads(join(source, 'packed-refs'))),
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

async function listFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).slice(0, MAX_HEADS);
    return files.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return [];
    throw error;
  }
}

/** A ref is a short regular file; a link may point anywhere on the host. */
async function readPlain(path: string): Promise<string | null> {
  try {
    const found = await lstat(path);
    return found.isFile() && found.size < 4096 ? await readFile(path, 'utf8') : null;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/** An agent that rewrites its alternates, or links its store elsewhere, would have us read other repositories. */
async function refuseForeignObjects(source: string): Promise<void> {
  const objects = join(source, 'objects');
  const [store, info] = await Promise.all([lstat(objects), lstat(join(objects, 'info'))]);
  const alternates = (await readIfThere(join(objects, 'info', 'alternates'))) ?? '';
  const isOurs = alternates.split('\n').every((line) => line === '' || /^\.\.\/borrowed\/\d+$/.test(line));
  if (store.isDirectory() && info.isDirectory() && isOurs) return;
  throw new GitError('its object store was made to borrow from somewhere else', '');
}

async function transferObjects(
  prepared: PreparedWorkspace,
  source: string,
  wanted: readonly string[],
): Promise<void> {
  const { gitDir } = prepared;
  const have = [prepared.baseCommit, prepared.baselineCommit].filter((id) => id !== null);
  const revisions = [...wanted, '--not', ...new Set(have)].map((line) => `${line}\n`).join('');
  const reader = createGit({ cwd: gitDir, gitDir, alternates: [join(source, 'objects')] });
  const pack = await reader.run(['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'], {
    stdin: revisions,
    maxOutputBytes: MAX_PACK_BYTES,
    timeoutMs: 600_000,
  });
  if (pack.stdout.length <= emptyPackBytes(prepared.baselineTree)) return;
  const writer = createGit({ cwd: gitDir, gitDir });
  await writer.run(['index-pack', '--stdin', '--strict', '--fix-thin'], {
    stdin: pack.stdout,
    timeoutMs: 600_000,
  });
}

/** A header and a trailing hash: every wanted commit was the user's own. */
function emptyPackBytes(like: string): number {
  return 12 + (objectFormatOf(like) === 'sha256' ? 32 : 20);
}
