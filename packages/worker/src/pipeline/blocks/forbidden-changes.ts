/**
 * Changes that are left out of the patch, and those that a person is asked about. The sandbox protects existing files;
 * what an agent created could not be mounted over, so it is judged here, and so is everything that a rule about files
 * forbids.
 */
import { sortChanges, type CapturedPatch, type SortedChanges, type SortOptions } from '@caisson/ground';
import type { Denial } from '@caisson/protocol';
import type { AttemptContext } from '../../attempt/index.ts';

export async function judgeCapture(context: AttemptContext, captured: CapturedPatch): Promise<SortedChanges> {
  if (captured.empty) return { forbidden: [], risky: [] };
  const { gitDir, baselineTree, mountPath, path, controls, kind, allowRisky } = context.job.workspace;
  return await sortChanges({
    ...{ gitDir, mountPath, own: controls, workspace: path, from: baselineTree, to: captured.tree },
    // In place there is no apply at which the user could be asked.
    leavesOutAsked: kind === 'in-place' && allowRisky !== true,
    ruleAgainst: await loadRules(context),
  });
}

/** What was made under a hidden name was not read, so it is not among the changes. */
export async function judgeHidden(
  context: AttemptContext,
  { hidden }: Pick<CapturedPatch, 'hidden'>,
): Promise<Denial[]> {
  const ruleAgainst = await loadRules(context);
  return hidden.map((path) => {
    const rule = ruleAgainst({ path, status: 'modified' });
    const why = rule === null ? 'is hidden by a rule' : `is protected by a rule (${rule.reason})`;
    const name = rule === null ? 'no-access' : `${rule.action} ${rule.path}`;
    return { layer: 'patch', what: `${path} ${why} and was left out of the patch`, rule: name };
  });
}

/** Loaded late: the matcher comes with the shell parser, and most runs have no rule about files. */
async function loadRules({ job }: AttemptContext): Promise<SortOptions['ruleAgainst']> {
  if (!job.rules.some((rule) => 'path' in rule)) return () => null;
  const { pathRules, ruleAgainst } = await import('@caisson/policy');
  const { cwd, mountPath } = job.workspace;
  const rules = pathRules(job.rules);
  return (file) => ruleAgainst(rules, file, { workspace: cwd, home: job.sandbox.home, mountPath });
}
