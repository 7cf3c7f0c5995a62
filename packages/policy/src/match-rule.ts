/** Which rule of caisson.yaml forbids something. Matchers are compiled once per rule. */
import type { InspectedCommand } from './classify/command-inspector.ts';
import { MAX_PATH, normalizePath } from './classify/path-kind.ts';
import { createScope } from './classify/shell-scope.ts';
import type { Access } from './action-class.ts';
import { compilePattern } from './path-pattern.ts';
import type { CommandRule, PathRule } from '@caisson/protocol';

export interface Place {
  readonly workspace?: string | undefined;
  readonly home?: string | undefined;
}

const FORBIDS: Record<PathRule['action'], readonly Access[]> = {
  'no-access': ['read', 'write', 'delete'],
  'read-only': ['write', 'delete'],
  'no-delete': ['delete'],
};

interface PathMatcher {
  readonly matches: (path: string) => boolean;
  /** The fixed folders at the start of the glob: deleting one of their parents deletes what it protects. */
  readonly base: string;
}

const pathMatchers = new WeakMap<PathRule, PathMatcher>();

/** Whether the rule forbids this access to this path. */
export function forbidsPath(rule: PathRule, path: string, access: Access, place: Place, cwd = ''): boolean {
  if (!FORBIDS[rule.action].includes(access)) return false;
  const matcher = matcherOf(rule);
  const relative = relativePath(path, place, cwd);
  if (relative.length > MAX_PATH) return false; // no path of a file
  if (matcher.matches(relative)) return true;
  if (access !== 'delete') return false;
  const folder = relative.replace(/\/?\*+$/, '');
  return folder === '.' || folder === '' || matcher.base === folder || matcher.base.startsWith(`${folder}/`);
}

/**
 * Whether the rule forbids this simple command. The parts between stars are looked for one after the other: a regular
 * expression would take a time that grows with a power of the command's length.
 */
export function forbidsCommand(rule: CommandRule, command: InspectedCommand): boolean {
  const [program = '', ...args] = command.argv;
  const line = [program.replace(/.*\//s, ''), ...args, ''].join(' ');
  const [first = '', ...rest] = rule.command.trim().split(/\s+/).join(' ').split('*');
  const last = rest.pop();
  if (last === undefined) return line.startsWith(`${first} `);
  if (!line.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = line.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return last === '' || line.includes(`${last} `, at);
}

function matcherOf(rule: PathRule): PathMatcher {
  const known = pathMatchers.get(rule);
  if (known !== undefined) return known;
  const { pattern, matches } = compilePattern(rule.path);
  const fixed = pattern.split('/');
  const firstGlob = fixed.findIndex((part) => /[*?[{(!]/.test(part));
  const base = (firstGlob < 0 ? fixed : fixed.slice(0, firstGlob)).join('/');
  const compiled = { matches, base };
  pathMatchers.set(rule, compiled);
  return compiled;
}

/** As the rule's glob sees it: relative inside the workspace, `~/…` in the home, else absolute. */
function relativePath(path: string, place: Place, cwd: string): string {
  const scope = { ...createScope(place), cwd };
  const full = normalizePath(path, scope);
  const { workspace } = place;
  if (workspace === undefined) return full;
  const absolute = full.startsWith('~') && place.home !== undefined ? place.home + full.slice(1) : full;
  if (absolute === workspace) return '.';
  return absolute.startsWith(`${workspace}/`) ? absolute.slice(workspace.length + 1) : full;
}
