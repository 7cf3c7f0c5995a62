/**
 * Where an agent works in the user's own folder there is no patch to leave a control file out of: one that it made
 * would steer the next program that starts there, Caisson among them. It is put aside under a name that means nothing,
 * beside the place where it was, because work is never deleted.
 */
import { lstatSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createGit, takeMark, type TreeChange } from '@caisson/ground';
import { deny, type AttemptContext } from '../attempt-context.ts';
import { findNestedControls, listHeldPaths } from '../nested-controls.ts';
import { findNewControls } from './new-controls.ts';

/** Call it before the agent starts; the returned function puts aside what was not there then, or lay elsewhere. */
export async function watchControls(context: AttemptContext): Promise<() => void> {
  const { job } = context;
  const { path: root, kind, gitDir } = job.workspace;
  if (kind !== 'in-place' || job.grant.mode === 'suggest') return () => undefined;
  const before = listHeldPaths(job.workspace).map((path) => ({ path, place: placeOf(join(root, path)) }));
  const held = [
    ...before.flatMap(({ path, place }) => (place === null ? [] : [path])),
    ...findNestedControls(job).map((path) => relative(job.workspace.mountPath, path)),
  ];
  const { changedAtMs } = await takeMark(gitDir);
  return () => {
    for (const { path, place } of before) {
      const now = placeOf(join(root, path));
      if (now !== null && now !== place) putAside(context, path, 'is a control file');
    }
    // Without a wall nothing was held, and what has changed may be the user's own.
    if (job.grant.sandbox === 'none') return;
    const found = findNewControls({ job, held, sinceMs: changedAtMs });
    for (const { path, why } of found.risks) putAside(context, path, why);
    if (!found.isComplete)
      context.voice.say({
        kind: 'warning',
        source: 'policy',
        message:
          'there are too many folders to look for control files in all of them; some may have been made',
      });
  };
}

/** Where it really lies: what a link leads to is kept by the sandbox, the link itself is not. */
function placeOf(path: string): string | null {
  if (!isThere(path)) return null;
  try {
    return realpathSync.native(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(code)) return code; // a link that leads nowhere
    throw error;
  }
}

/** Renames what an agent made in the user's own folder, and tells it. */
export function putAside(context: AttemptContext, path: string, why: string): void {
  const aside = moveAside(context, path);
  const rule = why === 'is a control file' ? 'control-file' : 'risky-file';
  deny(context, { layer: 'patch', what: `${path} ${why} and was renamed to ${aside}`, rule });
}

/** The same for a file of the user's that was changed: as it was before it comes back in its place. */
export async function putBack(
  context: AttemptContext,
  path: string,
  why: string,
  change: TreeChange,
): Promise<void> {
  const { path: root, gitDir } = context.job.workspace;
  const old = await createGit({ cwd: gitDir, gitDir }).run(['cat-file', 'blob', change.oldId]);
  const aside = moveAside(context, path);
  const mode = change.oldMode === '100755' ? 0o755 : 0o644;
  writeFileSync(join(root, path), old.stdout, { flag: 'wx', mode });
  const what = `${path} ${why}; it is as it was before, and what the run made of it is in ${aside} (--allow-risky keeps it)`;
  deny(context, { layer: 'patch', what, rule: 'risky-file' });
}

function moveAside(context: AttemptContext, path: string): string {
  const { path: root } = context.job.workspace;
  let aside = `${path}.left-out`;
  for (let count = 2; isThere(join(root, aside)); count += 1) aside = `${path}.left-out-${count}`;
  renameSync(join(root, path), join(root, aside));
  return aside;
}

/** The thing itself, a link too. `ENOTDIR` is an answer as well: nothing lies below a file. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false;
    throw error;
  }
}
