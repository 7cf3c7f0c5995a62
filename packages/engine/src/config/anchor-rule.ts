import { join, relative, resolve } from 'node:path';
import type { ConfigFile } from '@caisson/protocol';

type Rule = NonNullable<NonNullable<ConfigFile['policy']>['rules']>[number];

/**
 * A rule that names a place in the project by its absolute path means the same as a relative one: inside a sandbox, and
 * in a patch, files of the project have relative paths.
 */
export function anchorRule(rule: Rule, projectRoot: string, home: string): Rule {
  if (!('path' in rule)) return rule;
  const isHome = rule.path.startsWith('~/');
  if (!isHome && !rule.path.startsWith('/')) return rule;
  const absolute = isHome ? join(home, rule.path.slice(2)) : rule.path;
  const inside = relative(resolve(projectRoot), absolute);
  if (inside === '' || inside === '..' || inside.startsWith('../')) return rule;
  return { ...rule, path: `./${inside}${absolute.endsWith('/') ? '/' : ''}` };
}
