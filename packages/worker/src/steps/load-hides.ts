import type { Job } from '@caisson/protocol';

/**
 * Whether a path, relative to the workspace, is hidden by the rules; null if none hides anything. The matcher is loaded
 * late: it comes with the shell parser, and most runs have no rule about files.
 */
export async function loadHides({
  rules,
  workspace,
  sandbox,
}: Job): Promise<((path: string) => boolean) | null> {
  if (!rules.some((rule) => 'path' in rule)) return null;
  const { createHides, pathRules } = await import('@caisson/policy');
  const { cwd, mountPath } = workspace;
  return createHides(pathRules(rules), { cwd, mountPath, home: sandbox.home });
}
