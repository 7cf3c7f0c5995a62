import type { Access } from './action-class.ts';

/** The files that a patch names, in the `*** Update File:` form and in unified diffs. */
export function readPatchPaths(patch: string): { path: string; access: Access }[] {
  const paths: { path: string; access: Access }[] = [];
  const lines = patch.split('\n');
  lines.forEach((line, index) => {
    const marked = /^\*\*\* (Add|Update|Delete) File: (.+)$/.exec(line);
    const moved = /^\*\*\* Move to: (.+)$/.exec(line);
    const target = /^\+\+\+ (?:b\/)?(\S+)/.exec(line);
    if (marked)
      paths.push({ path: (marked[2] ?? '').trim(), access: marked[1] === 'Delete' ? 'delete' : 'write' });
    else if (moved) paths.push({ path: (moved[1] ?? '').trim(), access: 'write' });
    else if (target?.[1] === '/dev/null') {
      const source = /^--- (?:a\/)?(\S+)/.exec(lines[index - 1] ?? '')?.[1];
      if (source !== undefined) paths.push({ path: source, access: 'delete' });
    } else if (target) paths.push({ path: target[1] ?? '', access: 'write' });
  });
  return paths;
}
