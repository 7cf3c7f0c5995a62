/**
 * Rewrites commits of the agent that name a secret, in their message or author, without it before any of them is in the
 * user's repository; commits that follow them are rewritten too. Their files stay as they are.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { GitError, objectFormatOf, type Git } from '@caisson/ground';

import { mapAtOnce } from './at-once.ts';

/** Removes secrets from text. */
export type Clean = (text: Buffer) => Buffer;

const MAX_COMMITS_BYTES = 256 * 1024 * 1024;
/** A signature covers the changed text. */
const SIGNATURES = /^gpgsig(?:-sha256)? .*\n(?: .*\n)*/gm;

export interface CleanOptions {
  /** Reads the agent's objects. */
  readonly reader: Git;
  /** Writes to our store. */
  readonly writer: Git;
  readonly heads: readonly string[];
  /** Commits of the user, and everything below them. */
  readonly have: readonly string[];
  /** Our folder for files that live as long as this call. */
  readonly folder: string;
  readonly clean: Clean;
}

/** The replacement of each head; heads that stay are not in it. */
export async function cleanCommits(options: CleanOptions): Promise<ReadonlyMap<string, string>> {
  const { reader, writer, heads, have, folder } = options;
  const revisions = [...heads, ...have.map((id) => `^${id}`)].map((line) => `${line}\n`).join('');
  const listing = { stdin: revisions, maxOutputBytes: MAX_COMMITS_BYTES, timeoutMs: 600_000 };
  const listed = await reader.text(['rev-list', '--topo-order', '--reverse', '--stdin'], listing);
  const ids = listed.split('\n').filter((id) => id !== '');
  if (ids.length === 0) return new Map();
  const batch = await reader.run(['cat-file', '--batch'], {
    ...listing,
    stdin: ids.map((id) => `${id}\n`).join(''),
  });
  const instead = new Map<string, string>();
  const written: Buffer[] = [];
  for (const { id, raw } of readBatch(batch.stdout, ids)) {
    const cleaned = cleanCommit(raw, instead, options.clean);
    if (cleaned.equals(raw)) continue;
    instead.set(id, idOf(cleaned, id));
    written.push(cleaned);
  }
  await writeCommits(writer, folder, written);
  return instead;
}

/** Parents first: they may have been rewritten as well. */
function cleanCommit(raw: Buffer, instead: ReadonlyMap<string, string>, clean: Clean): Buffer {
  const text = raw.toString('latin1');
  const links = /^(?:(?:tree|parent) [0-9a-f]+\n)*/.exec(text)?.[0] ?? '';
  const moved = links.replaceAll(/[0-9a-f]{40,}/g, (id) => instead.get(id) ?? id);
  const rest = raw.subarray(links.length);
  const cleaned = clean(rest);
  if (moved === links && cleaned.equals(rest)) return raw;
  const end = cleaned.indexOf('\n\n');
  const head = cleaned.toString('latin1', 0, end + 1).replaceAll(SIGNATURES, '');
  return Buffer.concat([Buffer.from(moved + head, 'latin1'), cleaned.subarray(end + 1)]);
}

function readBatch(output: Buffer, ids: readonly string[]): { id: string; raw: Buffer }[] {
  let at = 0;
  return ids.map((id) => {
    const lineEnd = output.indexOf(10, at);
    const [found, type, size] = output.toString('latin1', at, lineEnd).split(' ');
    if (found !== id || type !== 'commit') throw new GitError(`its commit ${id} cannot be read`, '');
    const from = lineEnd + 1;
    at = from + Number(size) + 1;
    return { id, raw: output.subarray(from, at - 1) };
  });
}

function idOf(raw: Buffer, like: string): string {
  return createHash(objectFormatOf(like)).update(`commit ${raw.length}\0`).update(raw).digest('hex');
}

async function writeCommits(writer: Git, folder: string, commits: readonly Buffer[]): Promise<void> {
  if (commits.length === 0) return;
  const place = await mkdtemp(join(folder, 'commits-'));
  try {
    const paths = commits.map((_, index) => join(place, String(index)));
    await mapAtOnce(commits, (raw, index) => writeFile(paths[index] as string, raw, { mode: 0o600 }));
    await writer.run(['hash-object', '-w', '-t', 'commit', '--no-filters', '--stdin-paths'], {
      stdin: paths.map((path) => `${path}\n`).join(''),
      timeoutMs: 600_000,
    });
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}
