import { hit, worstOf, type Hit } from './finding.ts';
import { kindOfPath } from './path-kind.ts';
import { isAnywhere } from './search-output.ts';
import type { ShellScope } from './shell-scope.ts';

/** Classifies a write to a path: a plain file write, or something worse because of its place. */
export function hitOfWrite(path: string, scope: ShellScope): Hit | null {
  switch (kindOfPath(path, scope)) {
    case 'sink':
      return null;
    case 'mailbox':
      return hit('file_read', 'mailbox');
    case 'device':
      return hit('system_modify', 'raw-device');
    case 'control':
      return hit('system_modify', 'control-file');
    case 'git-dir':
      return hit('git_destructive', 'git-data');
    case 'system':
      return hit('system_modify', 'system-path');
    default:
      return hit('file_write', 'file-write');
  }
}

/** The worst of writing to each of these; a plain write when there is none. */
export function hitOfWrites(paths: readonly string[], scope: ShellScope): Hit {
  if (paths.some((path) => isAnywhere(path, scope))) return hit('system_modify', 'edits-everywhere');
  const hits = paths.map((path) => hitOfWrite(path, scope)).filter((found) => found !== null);
  return worstOf(hits) ?? hit('file_write', 'file-write');
}
