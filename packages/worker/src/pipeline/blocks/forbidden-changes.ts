/**
 * Changes that are left out of the patch. The sandbox holds what existed; what an agent created could not be mounted
 * over, so it is dropped here: control files at any depth, links in the place of a control file's folder, and
 * whatever a rule about files forbids.
 */
import { lstatSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isErrno, type PatchFile } from '@caisson/ground';
import type { AttemptContext } from '../../attempt-context.ts';
import { protectedPaths } from '../../sandbox-view.ts';

export interface ForbiddenChange {
  readonly path: string;
  /** Everything to leave out so that the change is gone: of a renamed file both names. */
  readonly paths: readonly string[];
  readonly rule: string;
  readonly why: string;
  /** Whether nothing had that name before. */
  readonly isNew: boolean;
}

type Changed = Pick<PatchFile, 'path' | 'previousPath' | 'status'>;

export async function findForbidden(
  context: AttemptContext,
  files: readonly Changed[],
): Promise<ForbiddenChange[]> {
  const { workspace, rules } = context.job;
  const isControl = createControlTest(workspace.path);
  const control = files
    .filter((file) => isControl(file.path))
    .map((file) => describe(file, 'control-file', 'is a control file'));
  if (!rules.some((rule) => 'path' in rule)) return control;
  const others = files.filter((file) => !isControl(file.path));
  return [...control, ...(await findRuledChanges(context, others))];
}

/** The same judgement as the gate's, on what was done instead of what was asked for. */
async function findRuledChanges(
  { job }: AttemptContext,
  files: readonly Changed[],
): Promise<ForbiddenChange[]> {
  const [{ forbidsPath }, { pathRules }] = await Promise.all([
    import('@caisson/policy'),
    import('../../ruled-paths.ts'),
  ]);
  const { cwd, mountPath } = job.workspace;
  const place = { workspace: cwd, home: job.sandbox.home };
  const rules = pathRules(job);
  return files.flatMap((file) => {
    const written = file.status === 'deleted' ? [] : [file.path];
    const deleted = file.status === 'deleted' ? [file.path] : file.previousPath ? [file.previousPath] : [];
    const rule = rules.find(
      (each) =>
        written.some((path) => forbidsPath(each, join(mountPath, path), 'write', place)) ||
        deleted.some((path) => forbidsPath(each, join(mountPath, path), 'delete', place)),
    );
    return rule === undefined
      ? []
      : [describe(file, `${rule.action} ${rule.path}`, `is kept by a rule (${rule.reason})`)];
  });
}

function describe(file: Changed, rule: string, why: string): ForbiddenChange {
  const { path, previousPath } = file;
  return {
    path,
    paths: previousPath === undefined ? [path] : [path, previousPath],
    rule,
    why,
    isNew: file.status === 'added' || file.status === 'renamed',
  };
}

/**
 * A program finds its settings in whatever folder it is started in, so a control file is one at any depth. A link named
 * like its folder would bring one in under another name, and so would a file that such a link already leads to.
 */
function createControlTest(root: string): (path: string) => boolean {
  const controls = protectedPaths();
  const folders = controls
    .filter((control) => control.includes('/'))
    .map((control) => control.replace(/\/[^/]*$/, ''));
  const linked = controls.flatMap((control) => realPlace(root, control));
  return (path) =>
    controls.some((control) => isAt(path, control)) ||
    linked.some((place) => path === place || path.startsWith(`${place}/`)) ||
    (folders.some((folder) => path === folder || path.endsWith(`/${folder}`)) && isLink(join(root, path)));
}

function isAt(path: string, control: string): boolean {
  return `/${path}/`.includes(`/${control}/`);
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Where a control file really lies in the workspace; only names are compared, nothing is read. */
function realPlace(root: string, control: string): string[] {
  try {
    const place = relative(realpathSync(root), realpathSync(join(root, control)));
    return place === '' || place.startsWith('..') ? [] : [place];
  } catch (error) {
    if (
      isErrno(error, 'ENOENT') ||
      isErrno(error, 'ENOTDIR') ||
      isErrno(error, 'ELOOP') ||
      isErrno(error, 'EACCES')
    )
      return [];
    throw error;
  }
}
