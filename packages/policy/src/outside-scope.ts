import { compilePattern } from './path-pattern.ts';

/**
 * Which of these paths no pattern of a task's scope covers. Without a pattern everything is in scope. `src/` is the
 * project's own folder: a pattern with a slash anywhere begins at the top.
 */
export function findOutsideScope(scope: readonly string[], paths: readonly string[]): string[] {
  const isWhole = (pattern: string): boolean => ['.', './', ''].includes(pattern.trim());
  if (scope.length === 0 || scope.some(isWhole)) return [];
  const patterns = scope.map((given) =>
    compilePattern(given.includes('/') ? `./${given.replace(/^\.\//, '')}` : given),
  );
  return paths.filter((path) => !patterns.some(({ matches }) => matches(path)));
}

/**
 * The file or folder that a pattern of a scope begins with, for what can only name places: `src` of `src/*.ts`. Null for a
 * pattern that may match anywhere.
 */
export function findScopePlace(pattern: string): string | null {
  const names = pattern
    .trim()
    .replace(/^\.\//, '')
    .split('/')
    .filter((name) => name !== '' && name !== '.');
  const wild = names.findIndex((name) => /[*?[\]{}()!+@]/.test(name));
  const fixed = wild === -1 ? names : names.slice(0, wild);
  return fixed.length === 0 || fixed.includes('..') ? null : fixed.join('/');
}
