/**
 * Copies ignored files that a workspace needs (`workspace.include`), by reflink if the file system supports it.
 *
 * I1  Nothing is written outside the target: a link on the way there ends the copy of that path.
 * I2  Nothing is read through a link on the way, even if one is put there meanwhile: such a path counts as missing.
 */
import { cp, glob, lstat, mkdir, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize } from 'node:path';

import { CaissonError, definedOnly } from '@caisson/protocol';

import { beneath, LinkInPathError } from './beneath.ts';
import { runBounded } from '../processes/index.ts';
import { isErrno } from '../platform/index.ts';

/** `workspace.include` names what is not inside the project. */
export class IncludeError extends CaissonError {
  readonly code = 'INCLUDE_INVALID';
}

export interface IncludeOptions {
  readonly patterns: readonly string[];
  /** The user's project folder, and the same folder in the workspace. */
  readonly from: string;
  readonly to: string;
  readonly signal?: AbortSignal;
}

export interface Included {
  /** Paths, relative to the project, that the workspace did not have before. */
  readonly brought: readonly string[];
  readonly missing: readonly string[];
}

const COPY_TIMEOUT_MS = 600_000;

export async function includeFiles(options: IncludeOptions): Promise<Included> {
  const brought: string[] = [];
  const missing: string[] = [];
  for (const pattern of options.patterns) {
    const paths = await findPaths(options.from, checkPattern(pattern));
    if (paths.length === 0) missing.push(pattern);
    for (const path of paths) {
      const isNew = await bringBeneath(options, path);
      if (isNew === null) missing.push(path);
      if (isNew === true) brought.push(path);
    }
  }
  return { brought, missing };
}

function checkPattern(pattern: string): string {
  const clean = normalize(pattern).replace(/\/$/, '');
  if (
    isAbsolute(clean) ||
    clean === '.' ||
    clean === '..' ||
    clean.startsWith('../') ||
    clean.split('/').includes('.git')
  ) {
    throw new IncludeError(
      `workspace.include has ${JSON.stringify(pattern)}, which is not inside the project.`,
      {
        remedy: 'List files and folders relative to the project, without "..".',
      },
    );
  }
  return clean;
}

async function findPaths(from: string, pattern: string): Promise<string[]> {
  if ((await kindOf(join(from, pattern))) !== null) return [pattern]; // a name may look like a pattern
  if (!/[*?[{]/.test(pattern)) return [];
  return (await Array.fromAsync(glob(pattern, { cwd: from }))).toSorted();
}

/** I2. Null behind a link. */
async function bringBeneath(options: IncludeOptions, path: string): Promise<boolean | null> {
  const place = Buffer.from(join(options.from, path).slice(1));
  try {
    // `cp` is another process: it reaches our open folder by our number.
    const own = (at: Buffer): string => at.toString().replace('/self/', `/${process.pid}/`);
    return await beneath('/', place, (at) => bring(options, own(at), path));
  } catch (error) {
    if (error instanceof LinkInPathError) return null;
    throw error;
  }
}

/** False when the workspace already has the path: what git tracks is not replaced. */
async function bring(options: IncludeOptions, source: string, path: string): Promise<boolean> {
  const target = join(options.to, path);
  const existing = await kindOf(target);
  if (existing === 'other' || (await leadsAway(options.to, dirname(target)))) return false;
  await mkdir(dirname(target), { recursive: true });
  const copied = await runBounded({
    file: 'cp',
    args: ['-a', '-n', '--reflink=auto', '-T', '--', source, target],
    timeoutMs: COPY_TIMEOUT_MS,
    maxOutputBytes: 64 * 1024,
    ...definedOnly({ signal: options.signal }),
  });
  options.signal?.throwIfAborted();
  // A `cp` without these options (busybox) leaves the work to Node, which is slower.
  if (copied.exitCode !== 0)
    await cp(source, target, { recursive: true, verbatimSymlinks: true, force: false });
  return existing === null;
}

/** I1 */
async function leadsAway(root: string, folder: string): Promise<boolean> {
  for (let parent = folder; parent !== root; parent = dirname(parent)) {
    if ((await kindOf(parent)) === null) continue;
    const real = await realpath(parent);
    return real !== join(await realpath(root), parent.slice(root.length));
  }
  return false;
}

async function kindOf(path: string): Promise<'folder' | 'other' | null> {
  try {
    return (await lstat(path)).isDirectory() ? 'folder' : 'other';
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
}
