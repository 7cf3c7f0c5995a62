/**
 * Removal is a move into the trash (W2). What a checkpoint has is not kept there (thin-trash.ts); `gc` deletes the rest when
 * it has expired.
 */
import { readdirSync, type Dirent } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  beneath,
  emptyTreeLike,
  isErrno,
  isWorkspaceBare,
  makeFolder,
  NEVER_IN_PATCH,
  publishFile,
  removeTree,
  stageWorkspace,
  statIfThere,
  undoOverlay,
  unlessErrno,
} from '@caisson/ground';
import { hasUnsavedCommits } from './agent-commits.ts';
import { SAVED_TREE_FILE, stageForCustody } from './checkpoint.ts';
import type { PreparedWorkspace, RemoveOptions, RemoveResult } from './contract.ts';
import { heldBackPlace } from './held-back.ts';
import { findUnreadWork, hidesOf } from './hiding.ts';
import { findHiddenWork } from './hidden-work.ts';
import { findChangedIncluded } from './included-memory.ts';
import { findLiveProcesses } from './live-processes.ts';
import { readIfThere } from './locate-repository.ts';
import { hasUnsavedNested } from './nested-history.ts';
import type { TrashMark } from './trash-contract.ts';
import { keepsSomething, measureTrashed, moveToTrash, removeAtOnce, removeTrashed } from './trash.ts';

/** So many files are inspected and removed while the user waits for the run; a larger workspace is left to the next sweep. */
const AT_ONCE = 10_000;

export async function removeWorkspace(
  prepared: PreparedWorkspace,
  { force = false, isProvenGone = false }: RemoveOptions = {},
): Promise<RemoveResult> {
  // By a host that died right after it.
  if (statIfThere(prepared.attemptDir, 'itself') === null) return { kind: 'removed' };
  const isBare = await holdsNothing(prepared);
  if (isBare && prepared.kind === 'empty' && (await removeBare(prepared))) return { kind: 'removed' };
  const place = prepared.kind === 'in-place' ? prepared.attemptDir : prepared.path;
  const pids = isProvenGone ? [] : findLiveProcesses(place);
  if (pids.length > 0) return { kind: 'refused', reason: 'live-processes', pids };
  if (isBare && prepared.kind === 'in-place') {
    await removeAtOnce(prepared);
    return { kind: 'removed' };
  }
  const left = isBare ? { isTouched: true, paths: [] } : await findUnsaved(prepared);
  if (left === null && !force) return { kind: 'refused', reason: 'unsaved-work' };
  if (left?.isTouched === false && isSmall(prepared.path)) {
    await removeAtOnce(prepared);
    return { kind: 'removed' };
  }
  if (prepared.kind === 'in-place' && left !== null) await removeOverlay(prepared);
  const mark = left === null ? await markUnsaved(prepared) : await holdBack(prepared, left);
  const path = await moveToTrash(prepared, mark);
  if (mark === 'saved' && isSmall(path)) {
    if (!(await keepsSomething(path, undefined))) {
      // the next sweep tries again, and reports
      await removeTrashed(path);
      return { kind: 'removed' };
    }
    await measureTrashed(path);
  }
  return { kind: 'trashed', path, isSaved: mark === 'saved' || mark === 'untouched' };
}

/** The checkpoint found nothing in it, either. */
async function holdsNothing(prepared: PreparedWorkspace): Promise<boolean> {
  if (prepared.agentGit !== undefined) return false;
  if (prepared.baselineTree !== emptyTreeLike(prepared.baselineTree)) return false;
  return await isWorkspaceBare(prepared.path, prepared.exclude);
}

/** Only the kernel decides: a folder that was just written to is not removed, and is inspected. */
async function removeBare(prepared: PreparedWorkspace): Promise<boolean> {
  for (const name of prepared.exclude) await removeTree(join(prepared.path, name));
  try {
    await rmdir(prepared.path);
  } catch (error) {
    if (isErrno(error, 'ENOTEMPTY', 'EEXIST', 'EBUSY')) return false;
    throw error;
  }
  await removeAtOnce(prepared);
  return true;
}

interface Unsaved {
  /** False: the files are unchanged, ignored ones included, so there is nothing to keep. */
  readonly isTouched: boolean;
  /** What no checkpoint has, relative to the workspace. */
  readonly paths: readonly string[];
  /** Something has no other copy. */
  readonly isStuck?: boolean;
}

/** Null when there is no checkpoint, or it is not of these files. */
async function findUnsaved(prepared: PreparedWorkspace): Promise<Unsaved | null> {
  const savedTree = await readIfThere(join(prepared.attemptDir, SAVED_TREE_FILE));
  if (savedTree === null) return null;
  // The files stay where they are, and the user may have changed them by now: our folder has none of them.
  const hasCommits = await hasUnsavedCommits(prepared);
  if (prepared.kind === 'in-place') return { isTouched: true, paths: [], isStuck: hasCommits };
  const staged = await stageForCustody(prepared);
  const isStuck = hasCommits || (await hasUnsavedNested(prepared, staged.nested));
  if (staged.warnings.length > 0 || savedTree !== staged.tree) return null;
  const paths = [
    ...staged.oversized.map(({ path }) => path),
    ...(await findChangedIncluded(prepared)),
    ...findUnreadWork(prepared, staged),
    ...(staged.isFirst === true ? [] : await findHiddenWork(prepared)),
  ];
  return { isTouched: staged.isFirst !== true || paths.length > 0 || isStuck, paths, isStuck };
}

/** A forced removal assumes that no agent has run. Changed files contradict that. */
async function markUnsaved(prepared: PreparedWorkspace): Promise<TrashMark> {
  if (prepared.kind === 'in-place') return 'unused'; // the files stay where they are
  try {
    const staged = await stageForCustody(prepared);
    const isUnchanged = staged.tree === (prepared.startTree ?? prepared.baselineTree);
    const unread = findUnreadWork(prepared, staged);
    return isUnchanged && staged.warnings.length + staged.oversized.length + unread.length === 0
      ? 'unused'
      : 'unsaved';
  } catch {
    return 'unsaved'; // unknown
  }
}

/** W2. Where something cannot be moved, all of it is kept. */
async function holdBack(
  prepared: PreparedWorkspace,
  { paths, isTouched, isStuck = false }: Unsaved,
): Promise<TrashMark> {
  let isComplete = !isStuck;
  for (const path of paths) {
    const target = join(heldBackPlace(prepared), path);
    try {
      makeFolder(dirname(target));
      const moved = await beneath(prepared.path, Buffer.from(path), async (source) => {
        await publishFile(source, target);
        return true;
      });
      isComplete &&= moved === true;
    } catch {
      isComplete = false; // an odd name, a link on the way, a file that cannot be opened
    }
  }
  return isComplete ? (isTouched ? 'saved' : 'untouched') : 'unsaved';
}

/** Capabilities and inputs were only copied to the user's folder for the run. */
async function removeOverlay(prepared: PreparedWorkspace): Promise<void> {
  const { path, gitDir, baselineTree, limits } = prepared;
  const exclude = [...new Set([...NEVER_IN_PATCH, ...prepared.exclude])];
  const hides = hidesOf(prepared);
  const { tree } = await stageWorkspace({
    workspace: path,
    gitDir,
    exclude,
    like: baselineTree,
    limits,
    hides,
  });
  await undoOverlay({ workspace: path, gitDir, baselineTree }, tree);
}

/** Small enough to remove while the user waits for the run. */
function isSmall(folder: string): boolean {
  const waiting = [Buffer.from(folder)];
  let seen = 0;
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const place = path;
    const list = (): Dirent<Buffer>[] => readdirSync(place, { withFileTypes: true, encoding: 'buffer' });
    const entries = unlessErrno(list, null, 'EACCES', 'ENAMETOOLONG');
    if (entries === null) return false;
    seen += entries.length;
    if (seen > AT_ONCE) return false;
    for (const entry of entries)
      if (entry.isDirectory()) waiting.push(Buffer.concat([place, Buffer.from('/'), entry.name]));
  }
  return true;
}
