import { hit, worstOf, type Hit } from './finding.ts';
import { isMadeAgain, isSomethingElse } from './made-again.ts';
import { kindOfPath } from './path-kind.ts';
import type { ShellScope } from './shell-scope.ts';
import { PRODUCED, UNTRUSTED } from './unknown-text.ts';

/**
 * Classifies the deletion of a path. What a tool makes again and temporary files with a name are bash_exec, as a build
 * is; single files are file_delete; whole trees are bash_destructive; a repository's data is git_destructive.
 */
export function hitOfDelete(path: string, isRecursive: boolean, scope: ShellScope): Hit {
  const kind = kindOfPath(path, scope);
  switch (kind) {
    case 'root':
    case 'home':
      return hit('bash_destructive', `delete-${kind}`);
    case 'device':
    case 'system':
    case 'control':
      return hit('system_modify', `delete-${kind}`);
    case 'git-dir':
      return /\.lock$/.test(path) && !isRecursive
        ? hit('file_delete', 'delete-file')
        : hit('git_destructive', 'git-data');
    case 'temp':
    case 'regenerable':
      if (isMadeAgain(path, scope)) return hit('bash_exec', `delete-${kind}`);
      return isRecursive && isSomethingElse(path, scope)
        ? hit('bash_destructive', 'delete-recursive')
        : hit('file_delete', `delete-${kind}`);
    case 'workspace':
      return hit('bash_destructive', 'delete-workspace');
    default:
      if (isMadeAgain(path, scope)) return hit('bash_exec', 'delete-regenerable');
      if (isRecursive) return hit('bash_destructive', 'delete-recursive');
      return isMany(path) ? hit('bash_destructive', 'delete-many') : hit('file_delete', 'delete-file');
  }
}

/** A pattern, or the output of a listing: not one file with a written name. */
function isMany(path: string): boolean {
  return /[*?]/.test(path) || path.includes(UNTRUSTED) || path.includes(PRODUCED);
}

export function hitOfDeletes(paths: readonly string[], isRecursive: boolean, scope: ShellScope): Hit {
  const fallback = isRecursive
    ? hit('bash_destructive', 'delete-recursive')
    : hit('file_delete', 'delete-file');
  const judged = [...new Set(paths)].filter((path) => !isCompanion(path, paths, scope));
  return worstOf(judged.map((path) => hitOfDelete(path, isRecursive, scope))) ?? fallback;
}

const LOCK = /^(\.\/)?(package-lock\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?)$/;

/**
 * What the next install or build makes again because of what is deleted with it: a lock with its modules, bin with obj.
 */
function isCompanion(path: string, paths: readonly string[], scope: ShellScope): boolean {
  const isMadeWith = (other: RegExp): boolean =>
    paths.some((candidate) => other.test(candidate) && isMadeAgain(candidate, scope));
  if (LOCK.test(path)) return isMadeWith(/^(\.\/)?node_modules\/?$/);
  const folder = /^(?!\/|~)(?!.*\.\.)([\w./-]*)\bbin\/?$/.exec(path)?.[1];
  return (
    folder !== undefined &&
    paths.some((other) => other.replace(/\/$/, '') === `${folder}obj` && isMadeAgain(other, scope))
  );
}
