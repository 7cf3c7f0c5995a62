/** The rules about files, applied to what was done instead of to the request. */
import { PathRule } from '@caisson/protocol';
import { forbidsPath, type Place } from './match-rule.ts';

/** One file of a patch; paths are relative to where the workspace is mounted. */
export interface ChangedFile {
  readonly path: string;
  readonly previousPath?: string;
  readonly status: string;
}

/** The rules about files among all rules, in their order. */
export function pathRules(rules: readonly Readonly<Record<string, unknown>>[]): PathRule[] {
  return rules.flatMap((rule) => ('path' in rule ? [PathRule.parse(rule)] : []));
}

/** The first rule that forbids this change, or `null`. A rename deletes one name and writes another. */
export function ruleAgainst(
  rules: readonly PathRule[],
  file: ChangedFile,
  place: Place & { readonly mountPath: string },
): PathRule | null {
  const at = (path: string): string => `${place.mountPath}/${path}`;
  const written = file.status === 'deleted' ? [] : [at(file.path)];
  const deleted =
    file.status === 'deleted'
      ? [at(file.path)]
      : file.status === 'renamed' && file.previousPath
        ? [at(file.previousPath)]
        : [];
  return (
    rules.find(
      (rule) =>
        written.some((path) => forbidsPath(rule, path, 'write', place)) ||
        deleted.some((path) => forbidsPath(rule, path, 'delete', place)),
    ) ?? null
  );
}
