import { realpathSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { statIfThere } from '@caisson/ground';
import type { ConfigFile } from '@caisson/protocol';

type Rule = NonNullable<NonNullable<ConfigFile['policy']>['rules']>[number];
type PathRule = Extract<Rule, { path: string }>;

/**
 * The rule as every part of a run uses it, and once more by its other name where links of the project lead to what it names:
 * git and the sandbox know a file by its own path alone.
 */
export function anchorRule(rule: Rule, projectRoot: string, home: string): Rule[] {
  if (!('path' in rule)) return [rule];
  const anchored = makeRelative(rule, resolve(projectRoot), home);
  const target = findTarget(anchored.path, resolve(projectRoot));
  return target === null ? [anchored] : [anchored, { ...anchored, path: target }];
}

/**
 * A rule that names a place in the project by its absolute path means the same as a relative one: inside a sandbox, and
 * in a patch, files of the project have relative paths.
 */
function makeRelative(rule: PathRule, root: string, home: string): PathRule {
  const isHome = rule.path.startsWith('~/');
  if (!isHome && !rule.path.startsWith('/')) return rule;
  const absolute = isHome ? join(home, rule.path.slice(2)) : rule.path;
  const inside = relative(root, absolute);
  if (!isBelow(inside)) return rule;
  return { ...rule, path: `./${inside}${absolute.endsWith('/') ? '/' : ''}` };
}

/** The same pattern behind the links of the names before its first wildcard; null without a link that stays inside. */
function findTarget(path: string, root: string): string | null {
  if (/^[/~]/.test(path)) return null;
  const names = path.replace(/^\.\//, '').split('/').filter(Boolean);
  const wild = names.findIndex((name) => /[*?[\]{}()!+@]/.test(name));
  const fixed = names.slice(0, wild === -1 ? names.length : wild);
  const isLink = (name: string): boolean =>
    statIfThere(join(root, name), 'itself')?.isSymbolicLink() === true;
  if (!fixed.some((_, index) => isLink(fixed.slice(0, index + 1).join('/')))) return null;
  const inside = relative(realpathIfThere(root), realpathIfThere(join(root, ...fixed)));
  if (!isBelow(inside)) return null;
  const rest = names.slice(fixed.length).map((name) => `/${name}`);
  return `./${inside.replace(/[*?[\]{}()!+@\\]/g, '\\$&')}${rest.join('')}`;
}

/** A link that leads nowhere leads out of every project. */
function realpathIfThere(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return '/';
  }
}

function isBelow(inside: string): boolean {
  return inside !== '' && inside !== '..' && !inside.startsWith('../');
}
