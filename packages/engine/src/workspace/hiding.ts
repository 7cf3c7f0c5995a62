/** What the rules about files hide from the agent, the same for every stage of a run. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { createHides } from '@caisson/policy';

import type { PreparedWorkspace, PrepareOptions } from './contract.ts';

/** The rules, for the record: a later host stores nothing that they hide, and judges by them. */
export function describeHiding(
  { rules = [] }: Pick<PrepareOptions, 'rules'>,
  home: string,
): Pick<PreparedWorkspace, 'hiding' | 'judging'> {
  const hiding = rules.filter(({ action }) => action === 'no-access');
  const judging = { rules: [...rules], home };
  return hiding.length === 0 ? { judging } : { judging, hiding: { rules: hiding, home } };
}

/** Whether a path, relative to the workspace, is hidden; null if no rule hides anything. */
export function hidesOf({
  hiding,
  cwd,
  mountPath,
}: Pick<PreparedWorkspace, 'hiding' | 'cwd' | 'mountPath'>): ((path: string) => boolean) | null {
  return hiding === undefined ? null : createHides(hiding.rules, { cwd, mountPath, home: hiding.home });
}

/** W2: what was made under a hidden name is in no checkpoint. In place it stays where it is. */
export function findUnreadWork(
  { kind, path }: Pick<PreparedWorkspace, 'kind' | 'path'>,
  { hidden = [] }: { readonly hidden?: readonly string[] | undefined },
): string[] {
  if (kind === 'in-place') return [];
  return hidden.filter((name) => lstatSync(join(path, name), { throwIfNoEntry: false }) !== undefined);
}
