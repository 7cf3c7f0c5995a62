/**
 * Changes that are left out of the patch, and those that a person is asked about. The sandbox holds what existed; what
 * an agent created could not be mounted over, so it is judged here, and so is whatever a rule about files forbids.
 */
import {
  describeFile,
  judgeTrees,
  type CapturedPatch,
  type RiskyChange,
  type TreeChange,
} from '@caisson/ground';
import { MAX_RISKY_LISTED, type ListedRisk } from '@caisson/protocol';
import type { AttemptContext } from '../../attempt/index.ts';

export interface ForbiddenChange {
  readonly path: string;
  readonly rule: string;
  readonly why: string;
  /** Whether nothing had that name before. */
  readonly isNew: boolean;
  /** Whether a rule of the project forbids it, and not the table of risky paths. */
  readonly isRuled: boolean;
  readonly change: TreeChange;
}

export interface JudgedCapture {
  readonly forbidden: readonly ForbiddenChange[];
  readonly risky: ListedRisk[];
}

export async function judgeCapture(context: AttemptContext, captured: CapturedPatch): Promise<JudgedCapture> {
  if (captured.empty) return { forbidden: [], risky: [] };
  const { workspace, rules } = context.job;
  const { gitDir, baselineTree, mountPath, path, controls } = workspace;
  const place = { gitDir, mountPath, own: controls, workspace: path };
  const { changes, risks } = await judgeTrees({ ...place, from: baselineTree, to: captured.tree });
  // In place there is no apply at which somebody could be asked.
  const isHeld = (risk: RiskyChange): boolean =>
    risk.grade === 'never' || (workspace.kind === 'in-place' && workspace.allowRisky !== true);
  const held = risks.filter(isHeld);
  const heldChanges = new Set(held.map(({ change }) => change));
  const others = changes.filter((change) => !heldChanges.has(change));
  const ruled = rules.some((rule) => 'path' in rule) ? await findRuledChanges(context, others) : [];
  const ruledChanges = new Set(ruled.map(({ change }) => change));
  return {
    forbidden: [...held.map(describeRisk), ...ruled],
    risky: risks
      .filter((risk) => !isHeld(risk) && !ruledChanges.has(risk.change))
      .slice(0, MAX_RISKY_LISTED)
      .map((risk) => ({ path: risk.path, why: risk.why })),
  };
}

/** Loaded late: the matcher comes with the shell parser, and most runs have no rule about files. */
async function findRuledChanges(
  { job }: AttemptContext,
  changes: readonly TreeChange[],
): Promise<ForbiddenChange[]> {
  const { pathRules, ruleAgainst } = await import('@caisson/policy');
  const { cwd, mountPath } = job.workspace;
  const rules = pathRules(job.rules);
  return changes.flatMap((change) => {
    const file = describeFile(change);
    const rule = ruleAgainst(rules, file, { workspace: cwd, home: job.sandbox.home, mountPath });
    if (rule === null) return [];
    const why = `is kept by a rule (${rule.reason})`;
    const name = `${rule.action} ${rule.path}`;
    return [{ path: file.path, rule: name, why, isNew: isNew(change), isRuled: true, change }];
  });
}

function describeRisk({ path, grade, why, change }: RiskyChange): ForbiddenChange {
  const rule = grade === 'never' ? 'control-file' : 'risky-file';
  return { path, rule, why, isNew: isNew(change), isRuled: false, change };
}

function isNew({ oldMode, previousPath }: TreeChange): boolean {
  return previousPath !== undefined || /^0+$/.test(oldMode);
}
