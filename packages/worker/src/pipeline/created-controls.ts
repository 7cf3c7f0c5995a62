/**
 * Where an agent works in the user's own folder there is no patch to leave a control file out of: one that it made
 * would steer the next program that starts there, Caisson among them. It is put aside under a name that means nothing,
 * beside the place where it was, because work is never deleted.
 */
import { lstatSync, realpathSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { CONTROL_FILES } from '@caisson/ground';
import { deny, type AttemptContext } from '../attempt-context.ts';

/** Call it before the agent starts; the returned function puts aside what was not there then, or lay elsewhere. */
export function watchControls(context: AttemptContext): () => void {
  const { path: root, kind, controls = [] } = context.job.workspace;
  if (kind !== 'in-place') return () => undefined;
  const before = [...CONTROL_FILES, ...controls].map((path) => ({ path, place: placeOf(join(root, path)) }));
  return () => {
    for (const { path, place } of before) {
      const now = placeOf(join(root, path));
      if (now !== null && now !== place) putAside(context, path);
    }
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
export function putAside(context: AttemptContext, path: string): void {
  const { path: root } = context.job.workspace;
  let aside = `${path}.left-out`;
  for (let count = 2; isThere(join(root, aside)); count += 1) aside = `${path}.left-out-${count}`;
  renameSync(join(root, path), join(root, aside));
  deny(context, {
    layer: 'patch',
    what: `${path} is a control file and was renamed to ${aside}`,
    rule: 'control-file',
  });
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
