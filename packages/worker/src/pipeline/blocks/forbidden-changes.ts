/**
 * Changes that are left out of the patch. The sandbox holds what existed; what an agent created could not be mounted
 * over, so it is dropped here: control files, and whatever a rule about files forbids.
 */
import { createControlTest, type PatchFile } from '@caisson/ground';
import type { AttemptContext } from '../../attempt-context.ts';

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
  const isControl = createControlTest(workspace.path, workspace.controls);
  const control = files
    .filter((file) => isControl(file.path))
    .map((file) => describe(file, 'control-file', 'is a control file'));
  if (!rules.some((rule) => 'path' in rule)) return control;
  const others = files.filter((file) => !isControl(file.path));
  return [...control, ...(await findRuledChanges(context, others))];
}

/** Loaded late: the matcher comes with the shell parser, and most runs have no rule about files. */
async function findRuledChanges(
  { job }: AttemptContext,
  files: readonly Changed[],
): Promise<ForbiddenChange[]> {
  const { pathRules, ruleAgainst } = await import('@caisson/policy');
  const { cwd, mountPath } = job.workspace;
  const rules = pathRules(job.rules);
  return files.flatMap((file) => {
    const rule = ruleAgainst(rules, file, { workspace: cwd, home: job.sandbox.home, mountPath });
    return rule === null
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
