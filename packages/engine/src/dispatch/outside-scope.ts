import { relative } from 'node:path';
import { parsePatchHeaders, showPath } from '@caisson/ground';
import { findOutsideScope } from '@caisson/policy';
import type { TerminalType } from '@caisson/protocol';
import type { StoredEvent, StoredOf } from '../ledger/index.ts';
import type { DispatchRooms } from './rooms.ts';

/**
 * Which files a run changed although its task's scope does not cover them, relative to the project. It follows from what
 * is recorded (the scope that was accepted, the patch of the ending), so it is computed and not recorded again.
 */
export async function findChangesOutsideScope(
  { store }: Pick<DispatchRooms, 'store'>,
  events: readonly StoredEvent[],
  ending: StoredOf<TerminalType> | undefined,
): Promise<string[]> {
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  const scope = accepted?.data.task.scope ?? [];
  const patchRef = ending?.data.patchRef;
  if (scope.length === 0 || patchRef === undefined) return [];
  const folder = projectFolder(events);
  const touched = parsePatchHeaders(await store.getBlob(patchRef)).flatMap(({ oldPath, newPath }) =>
    [oldPath, newPath].filter((path) => path !== null).map(showPath),
  );
  const paths = [...new Set(touched)].map((path) => relative(`/${folder}`, `/${path}`));
  return findOutsideScope(scope, paths).toSorted();
}

/** Where the project lies in the workspace: a patch names files from the top of the repository. */
function projectFolder(events: readonly StoredEvent[]): string {
  const launched = events.findLast((event) => event.type === 'attempt.launched');
  const { mountPath, cwd } = launched?.data.workspace ?? {};
  return mountPath === undefined || cwd === undefined ? '' : relative(mountPath, cwd);
}
