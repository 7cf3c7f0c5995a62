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
