/** Which files of a mounted repository the rules about files name. */
import type { PathRule } from '@caisson/protocol';
import { forbidsPath } from './match-rule.ts';
import { compilePattern } from './path-pattern.ts';

/** Where a repository, and the project in it, are seen. */
export interface MountedProject {
  /** The project's folder. */
  readonly cwd: string;
  /** The top of the repository. */
  readonly mountPath: string;
  readonly home: string;
}

/**
 * The whole repository is mounted, also for a project in a subfolder. A rule about names in any folder counts in all of
 * it; other rules are relative to the project.
 */
export function isRuleAbout(
  rule: PathRule,
  inside: string,
  { cwd, mountPath, home }: MountedProject,
): boolean {
  if (/^[/~]/.test(rule.path)) return absoluteMatcher(rule.path, home)(inside);
  if (inside.startsWith(`${cwd}/`)) return forbidsPath(rule, inside, 'write', { workspace: cwd, home });
  const containsProject = `${cwd}/`.startsWith(`${inside}/`);
  const isAnywhere = /^(\*\*\/|(?!\.\/)[^/]+\/?$)/.test(rule.path);
  return isAnywhere && !containsProject && forbidsPath(rule, inside, 'write', { workspace: mountPath, home });
}

const absoluteMatchers = new Map<string, (path: string) => boolean>();

/** A rule about a place above the project may still be about the repository. */
function absoluteMatcher(path: string, home: string): (path: string) => boolean {
  const whole = path.replace(/^~(?=\/)/, home);
  const known = absoluteMatchers.get(whole) ?? compilePattern(whole).matches;
  absoluteMatchers.set(whole, known);
  return known;
}

/** Whether a `no-access` rule hides a path (relative to `mountPath`) or a folder that it is in; `null` without such a rule. */
export function createHides(
  rules: readonly PathRule[],
  place: MountedProject,
): ((path: string) => boolean) | null {
  const hiding = rules.filter(({ action }) => action === 'no-access');
  if (hiding.length === 0) return null;
  const folders = new Map<string, boolean>();
  const isNamed = (path: string): boolean =>
    hiding.some((rule) => isRuleAbout(rule, `${place.mountPath}/${path}`, place));
  const isHiddenFolder = (folder: string): boolean => {
    const known = folders.get(folder);
    if (known !== undefined) return known;
    const isHidden = hides(folder);
    folders.set(folder, isHidden);
    return isHidden;
  };
  const hides = (path: string): boolean => {
    const slash = path.lastIndexOf('/');
    return (slash > 0 && isHiddenFolder(path.slice(0, slash))) || isNamed(path);
  };
  return hides;
}
