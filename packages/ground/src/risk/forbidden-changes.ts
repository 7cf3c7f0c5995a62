/**
 * Sorts the changes of a run: what is left out of the patch, and what a person is asked about. Worker and host sort alike:
 * an agent that fails, or has itself killed, gets nothing into the patch that a finished one does not.
 */
import { MAX_RISKY_LISTED, type ListedRisk } from '@caisson/protocol';
import { describeFile, type TreeChange } from '../git/index.ts';
import { judgeTrees, type JudgeTreesOptions, type RiskyChange } from './risky-changes.ts';

export interface ForbiddenChange {
  readonly path: string;
  readonly rule: string;
  /** The end of a sentence that begins with the path. */
  readonly why: string;
  /** Whether nothing had that name before. */
  readonly isNew: boolean;
  /** Whether a rule of the project forbids it, and not the table of risky paths. */
  readonly isRuled: boolean;
  readonly change: TreeChange;
}

export interface SortedChanges {
  readonly forbidden: readonly ForbiddenChange[];
  readonly risky: ListedRisk[];
}

/** A rule of the project about files, as it is shown to people. */
export interface FileRule {
  readonly action: string;
  readonly path: string;
  readonly reason: string;
}

export interface SortOptions extends JudgeTreesOptions {
  /** Whether changes that are otherwise asked about (grade `ask`) are left out, too. */
  readonly leavesOutAsked: boolean;
  /** The rule that forbids this change, or null. */
  ruleAgainst(file: ReturnType<typeof describeFile>): FileRule | null;
}

export async function sortChanges(options: SortOptions): Promise<SortedChanges> {
  const { changes, risks } = await judgeTrees(options);
  const isHeld = ({ grade }: RiskyChange): boolean => grade === 'never' || options.leavesOutAsked;
  const held = risks.filter(isHeld).map(describeRisk);
  const heldChanges = new Set(held.map(({ change }) => change));
  const others = changes.filter((change) => !heldChanges.has(change));
  const ruled = others.flatMap((change) => describeRuled(change, options));
  const left = new Set([...held, ...ruled].map(({ change }) => change));
  const asked = risks.filter(({ change }) => !left.has(change)).slice(0, MAX_RISKY_LISTED);
  return { forbidden: [...held, ...ruled], risky: asked.map(({ path, why }) => ({ path, why })) };
}

function describeRisk({ path, grade, why, change }: RiskyChange): ForbiddenChange {
  const rule = grade === 'never' ? 'control-file' : 'risky-file';
  return { path, rule, why, isNew: isNew(change), isRuled: false, change };
}

function describeRuled(change: TreeChange, { ruleAgainst }: SortOptions): ForbiddenChange[] {
  const file = describeFile(change);
  const rule = ruleAgainst(file);
  if (rule === null) return [];
  const why = `is protected by a rule (${rule.reason})`;
  const name = `${rule.action} ${rule.path}`;
  return [{ path: file.path, rule: name, why, isNew: isNew(change), isRuled: true, change }];
}

function isNew({ oldMode, previousPath }: TreeChange): boolean {
  return previousPath !== undefined || /^0+$/.test(oldMode);
}
