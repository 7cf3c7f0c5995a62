/** A sense or workflow is declared also without its file, which may come later. Until then each list of them says so. */
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { ResidentView } from '@caisson/protocol';
import type { Residents } from '../residents/index.ts';

export function describeMissing(projectRoot: string, file: string): string | null {
  const path = resolve(projectRoot, file);
  return existsSync(path) ? null : `there is no file ${relative(projectRoot, path)}`;
}

/** What is known of a file that was tried says more. */
export function nameMissing<T extends { readonly file: string; readonly problem?: string | undefined }>(
  projectRoot: string,
  view: T,
): T {
  const missing = view.problem === undefined ? describeMissing(projectRoot, view.file) : null;
  return missing === null ? view : { ...view, problem: missing };
}

export function nameMissingOf(
  projectRoot: string,
  residents: Pick<Residents, 'residents' | 'senses' | 'workflows'> | null,
): readonly ResidentView[] {
  if (residents === null) return [];
  const files = new Map<string, string>([
    ...residents.senses().map(({ name, group, file }) => [`senses.${group} ${name}`, file] as const),
    ...residents.workflows().map(({ name, file }) => [`workflow.${name} ${name}`, file] as const),
  ]);
  return residents.residents().map((view) => {
    const missing = view.serves.flatMap((name) => {
      const file = files.get(`${view.key} ${name}`);
      const problem = file === undefined ? null : describeMissing(projectRoot, file);
      return problem === null ? [] : [[name, problem] as const];
    });
    return missing.length === 0
      ? view
      : { ...view, problems: { ...Object.fromEntries(missing), ...view.problems } };
  });
}
