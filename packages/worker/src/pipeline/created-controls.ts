/**
 * If an agent works in the user's own folder there is no patch to leave a control file out of: one that it made would
 * control the next program that starts there, also Caisson. It is moved aside under a harmless name, beside its place,
 * because work is never deleted.
 */
import { lstatSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createGit, riskOfName, takeMark, unlessErrno } from '@caisson/ground';
import { findChangedParts, findRisk } from '@caisson/protocol';
import { deny, type AttemptContext } from '../attempt/index.ts';
import { findNestedControls, listHeldPaths } from '../view/index.ts';
import { findNewControls } from './new-controls.ts';

const CONTROL = 'is a control file';

/** Call it before the agent starts; the returned function moves aside what is new since then, or was elsewhere. */
export async function watchControls(context: AttemptContext): Promise<() => Promise<void>> {
  const { job } = context;
  const { path: root, kind, gitDir } = job.workspace;
  if (kind !== 'in-place' || job.grant.mode === 'suggest') return () => Promise.resolve();
  const before = listHeldPaths(job.workspace).map((path) => ({ path, place: placeOf(join(root, path)) }));
  const held = [
    ...before.flatMap(({ path, place }) => (place === null ? [] : [path])),
    ...findNestedControls(job).map((path) => relative(job.workspace.mountPath, path)),
  ];
  const { changedAtMs } = await takeMark(gitDir);
  return async () => {
    for (const { path, place } of before) {
      const now = placeOf(join(root, path));
      if (now !== null && now !== place) putAside(context, path, riskOfName(path)?.why ?? CONTROL);
    }
    // Without a sandbox nothing was protected, and changes may be the user's own.
    if (job.grant.sandbox === 'none') return;
    const found = findNewControls({ job, held, sinceMs: changedAtMs });
    for (const { path, why } of found.risks) putAside(context, path, why);
    for (const path of found.manifests) await judgeManifest(context, path);
    if (!found.isComplete)
      context.writer.write({
        kind: 'warning',
        source: 'policy',
        message:
          'there are too many folders to look for control files in all of them; some may have been made',
      });
  };
}

/** Its real place: the sandbox protects the target of a link, but not the link itself. */
function placeOf(path: string): string | null {
  if (!isThere(path)) return null;
  try {
    return realpathSync.native(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(code)) return code; // a dangling link
    throw error;
  }
}

/** Renames what an agent made in the user's own folder, and reports it. */
export function putAside(context: AttemptContext, path: string, why: string): void {
  const aside = moveAside(context, path);
  const rule = why === CONTROL ? 'control-file' : 'risky-file';
  deny(context, { layer: 'patch', what: `${path} ${why} and was renamed to ${aside}`, rule });
}

/** Of a file that people change every day, only some members make a program run something. */
async function judgeManifest(context: AttemptContext, path: string): Promise<void> {
  const { path: root, gitDir, baselineTree } = context.job.workspace;
  const entry = findRisk(path);
  if (entry?.parts === undefined || !isThere(join(root, path))) return;
  const isFile = lstatSync(join(root, path)).isFile();
  const git = createGit({ cwd: gitDir, gitDir });
  const old = await git.run(['cat-file', 'blob', `${baselineTree}:${path}`], { okExitCodes: [0, 128] });
  const before = old.exitCode === 0 ? old.stdout : null;
  const parts = isFile
    ? findChangedParts(entry.parts, before?.toString('utf8') ?? null, readFileSync(join(root, path), 'utf8'))
    : ['all of it'];
  if (parts.length === 0) return;
  const why = `changes ${parts.join(', ')}, obeyed by ${entry.obeyedBy}`;
  if (before === null) putAside(context, path, why);
  else putBack(context, path, why, before);
}

/** The same for a changed file of the user: its old content is restored. */
export function putBack(context: AttemptContext, path: string, why: string, before: Buffer): void {
  const { path: root } = context.job.workspace;
  const { mode } = lstatSync(join(root, path));
  const aside = moveAside(context, path);
  writeFileSync(join(root, path), before, { flag: 'wx', mode: mode & 0o777 });
  const what = `${path} ${why}; its old content was restored, and the run's version is in ${aside} (--allow-risky keeps it)`;
  deny(context, { layer: 'patch', what, rule: 'risky-file' });
}

function moveAside(context: AttemptContext, path: string): string {
  const { path: root } = context.job.workspace;
  let aside = `${path}.left-out`;
  for (let count = 2; isThere(join(root, aside)); count += 1) aside = `${path}.left-out-${count}`;
  renameSync(join(root, path), join(root, aside));
  return aside;
}

/** The entry itself, a link too. `ENOTDIR` is an answer as well: nothing is below a file. */
function isThere(path: string): boolean {
  return unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }) !== undefined, false, 'ENOTDIR');
}
