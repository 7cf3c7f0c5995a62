/** What a task names to be brought can be, or the requester learns it before there is a run. */
import { whyNotBrought } from '../workspace/index.ts';
import type { Candidate } from './contract.ts';
import type { RequestRefusal } from './request-checks.ts';
import type { DispatchRooms } from './rooms.ts';

export async function findUnbringable(
  { request, workspaceKind, grant }: Pick<Candidate, 'request' | 'workspaceKind' | 'grant'>,
  { workspaces, settings }: Pick<DispatchRooms, 'workspaces' | 'settings'>,
): Promise<RequestRefusal | null> {
  const { bring = [] } = request;
  if (bring.length === 0) return null;
  if (workspaceKind !== 'worktree')
    return {
      kind: 'usage',
      detail: `--bring was given, but the workspace is ${workspaceKind}: only a worktree brings files and folders`,
      remedy: 'Leave out --bring, or use --workspace worktree.',
    };
  const { projectRoot, stateDir } = settings;
  const top = (await workspaces.findTop({ projectRoot })) ?? projectRoot;
  const options = {
    ...{ projectRoot, stateDir, keepOut: settings.privatePaths() },
    sandboxed: grant.sandbox !== 'none',
  };
  for (const path of bring) {
    const why = whyNotBrought(options, top, path);
    if (why === null) continue;
    return {
      kind: 'usage',
      detail: `--bring ${JSON.stringify(path.slice(0, 200))} ${why}`,
      remedy: 'Name an ignored file or folder of the project, relative to it.',
    };
  }
  return null;
}
