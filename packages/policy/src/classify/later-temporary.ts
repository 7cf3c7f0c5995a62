import { forkScope, setVariable, type ShellScope } from './shell-scope.ts';

const MADE =
  /(?:^|[\s;&({])(?:local\s+|export\s+|readonly\s+|declare\s+)?([A-Za-z_]\w*)=["']?(?:\$\(|`)\s*mktemp\b[^)`]*[)`]/g;

const MAX_LENGTH = 10_000;
const MAX_NAMES = 8;

/**
 * A handler that is defined before its variable, `cleanup() { rm -rf "$tmp"; }; tmp=$(mktemp -d)`: what it deletes is
 * set once, later on the line, by mktemp.
 */
export function withLaterTemporaries(scope: ShellScope, line: string): ShellScope {
  const inner = forkScope(scope);
  const names = new Set([...line.slice(0, MAX_LENGTH).matchAll(MADE)].map(([, name = '']) => name));
  for (const name of [...names].slice(0, MAX_NAMES)) {
    if (!scope.variables.has(name) && isSetOnce(name, line)) setVariable(inner, name, '/tmp/mktemp');
  }
  return inner;
}

function isSetOnce(name: string, line: string): boolean {
  const assignments = line.match(new RegExp(String.raw`\b${name}\+?=`, 'g'))?.length ?? 0;
  const isSetElsewhere = new RegExp(
    String.raw`\b(?:read|for|select|mapfile|readarray|getopts|printf\s+-v)\b[^;\n]*\b${name}\b`,
  ).test(line);
  return assignments === 1 && !isSetElsewhere;
}
