/** The folders that senses and workflows ask for: what none may name, whatever the user agrees to. */
import { isAbsolute, relative, resolve } from 'node:path';
import type { ConfigFile } from '@caisson/protocol';

const PROJECT_FILE = 'caisson.yaml';

interface Granted {
  /** Where it is written: kind, name, `read` or `write`. */
  readonly path: readonly [kind: string, name: string, key: 'read' | 'write'];
  readonly written: string;
  readonly folder: string;
}

export interface GrantProblem {
  readonly path: readonly string[];
  readonly message: string;
}

export function findGrantProblems(file: ConfigFile, projectRoot: string): GrantProblem[] {
  const granted = listGranted(file, projectRoot);
  const writable = granted.filter(({ path: [, , key] }) => key === 'write');
  const kept = listKept(file, projectRoot);
  return granted.flatMap((grant) => {
    const wrong = describeGrant(grant, projectRoot, writable, kept);
    return wrong === null
      ? []
      : [{ path: grant.path, message: `${grant.path.join('.')}: "${grant.written}" ${wrong}` }];
  });
}

function listGranted({ senses = {}, workflows = {} }: ConfigFile, projectRoot: string): Granted[] {
  return Object.entries({ senses, workflows }).flatMap(([kind, members]) =>
    Object.entries(members).flatMap(([name, member]) =>
      (['read', 'write'] as const).flatMap((key) =>
        (member[key] ?? []).map((written: string) => ({
          path: [kind, name, key] as const,
          written,
          folder: resolve(projectRoot, written),
        })),
      ),
    ),
  );
}

/**
 * What decides what runs, here or outside a sandbox: none of it is for code that runs by itself to write. What a resident
 * imports is refused when it is loaded.
 */
function listKept({ senses = {}, workflows = {} }: ConfigFile, projectRoot: string): string[] {
  const files = [...Object.values(senses), ...Object.values(workflows)].map(({ file }) => file);
  return ['.git', PROJECT_FILE, ...files].map((path) => resolve(projectRoot, path));
}

function describeGrant(
  { path: [, , key], written, folder }: Granted,
  projectRoot: string,
  writable: readonly Granted[],
  kept: readonly string[],
): string | null {
  if (!isAbsolute(written) && !isWithin(projectRoot, folder))
    return 'leaves the project; write the whole path of a folder outside of it.';
  const covered = kept.find((path) => isWithin(folder, path) || isWithin(path, folder));
  if (key === 'write' && covered !== undefined)
    return `may not be writable: ${relative(projectRoot, covered)} decides what runs, or when.`;
  const owner = writable.find((other) => other.folder !== folder && isWithin(other.folder, folder));
  return owner === undefined
    ? null
    : `is inside "${owner.written}", which ${owner.path.join('.')} makes writable: its code could replace it.`;
}

/** Also the folder itself. */
function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../');
}
