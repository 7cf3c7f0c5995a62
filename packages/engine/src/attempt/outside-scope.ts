import { relative } from 'node:path';
import { parsePatchHeaders, showPath } from '@caisson/ground';
import { findOutsideScope } from '@caisson/policy';
import type { StoredEvent } from '../ledger/index.ts';
import { throwUnlessProblem } from '../store/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import type { DispatchRooms } from '../admission/index.ts';

type Rooms = Pick<DispatchRooms, 'store' | 'workspaces'>;

/** What an ending says of the work. */
export type RecordedWork = Readonly<Record<'patchRef' | 'patchMissing' | 'resultRef', unknown>>;

/**
 * Which files a run changed although its task's scope does not cover them, relative to the project. It follows from what
 * is recorded (the scope that was accepted, the patch or else the checkpoint), so it is computed and not recorded again.
 */
export async function findChangesOutsideScope(
  rooms: Rooms,
  events: readonly StoredEvent[],
  work: Partial<RecordedWork>,
): Promise<string[]> {
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  const scope = accepted?.data.task.scope ?? [];
  const launched = events.findLast((event) => event.type === 'attempt.launched');
  const workspace = PreparedWorkspace.safeParse(launched?.data.workspace).data;
  if (scope.length === 0 || workspace === undefined) return [];
  const folder = relative(workspace.mountPath, workspace.cwd); // a patch names files from the top of the repository
  const touched = await listTouched(rooms, workspace, work);
  const paths = [...new Set(touched)].map((path) => relative(`/${folder}`, `/${path}`));
  return findOutsideScope(scope, paths).toSorted();
}

/** A result without a patch means that its worker checked, and that there was nothing. */
export function mayLackPatch({ patchRef, patchMissing, resultRef }: Partial<RecordedWork>): boolean {
  return patchRef === undefined && (patchMissing !== undefined || resultRef === undefined);
}

async function listTouched(
  { store, workspaces }: Rooms,
  workspace: PreparedWorkspace,
  work: Partial<RecordedWork>,
): Promise<readonly string[]> {
  if (typeof work.patchRef === 'string')
    try {
      return listPatched(await store.getBlob(work.patchRef));
    } catch (error) {
      throwUnlessProblem(error);
    }
  else if (!mayLackPatch(work)) return [];
  return workspaces.listSavedChanges(workspace);
}

function listPatched(patch: Buffer): string[] {
  return parsePatchHeaders(patch).flatMap(({ oldPath, newPath }) =>
    [oldPath, newPath].filter((path) => path !== null).map(showPath),
  );
}
