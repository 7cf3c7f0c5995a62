import { relative } from 'node:path';
import { parsePatchHeaders, showPath } from '@caisson/ground';
import { findOutsideScope } from '@caisson/policy';
import { CaissonError, knownTypeOf } from '@caisson/protocol';
import type { StoredEvent } from '../ledger/index.ts';
import { throwUnlessProblem } from '../store/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import { findWorkAttempt, mayLackPatch, type DispatchRooms, type RecordedWork } from '../admission/index.ts';

/** This version cannot read which files the task was about, or where its work was done. */
export class ScopeUnknownError extends CaissonError {
  readonly code = 'SCOPE_UNKNOWN';

  constructor() {
    super('this version of Caisson cannot read the scope of the task', {
      remedy: 'Use the version that ran it, or look at the work and take it with --outside-scope.',
    });
  }
}

type Rooms = Pick<DispatchRooms, 'store' | 'workspaces'>;

/**
 * Which files a run changed although its task's scope does not cover them, relative to the project. It follows from what
 * is recorded (the scope that was accepted, the patch or else the checkpoint), so it is computed and not recorded again.
 * A branch has all of the checkpoint, also what a check wrote after the patch was taken: `forBranch` counts that, too.
 */
export async function findChangesOutsideScope(
  rooms: Rooms,
  events: readonly StoredEvent[],
  work: RecordedWork,
  { forBranch, patch }: { readonly forBranch: boolean; readonly patch?: Buffer },
): Promise<string[]> {
  const scope = readScope(events);
  if (scope.length === 0 || !events.some((event) => knownTypeOf(event) === 'attempt.launched')) return [];
  const workspace = findWorkspace(events, work);
  if (workspace === undefined) throw new ScopeUnknownError();
  const folder = relative(workspace.mountPath, workspace.cwd); // a patch names files from the top of the repository
  const touched = patch === undefined ? await listTouched(rooms, workspace, work) : listPatched(patch);
  const saved = forBranch ? await rooms.workspaces.listSavedChanges(workspace) : [];
  const paths = [...new Set([...touched, ...saved])].map((path) => relative(`/${folder}`, `/${path}`));
  return findOutsideScope(scope, paths).toSorted();
}

/** What cannot be read must not pass for a task without a scope. */
function readScope(events: readonly StoredEvent[]): readonly string[] {
  const accepted = events.find((event) => knownTypeOf(event) === 'dispatch.accepted');
  if (accepted?.type === 'unknown') throw new ScopeUnknownError();
  return accepted?.type === 'dispatch.accepted' ? (accepted.data.task.scope ?? []) : [];
}

/** The workspace of the attempt whose work the ending names. */
function findWorkspace(events: readonly StoredEvent[], work: RecordedWork): PreparedWorkspace | undefined {
  const launches = events.filter((event) => event.type === 'attempt.launched');
  const ended = events.filter((event) => event.type === 'attempt.ended');
  const attempt = findWorkAttempt(ended, { attempt: launches.at(-1)?.attempt ?? 0, data: work });
  const launched = launches.findLast((event) => event.attempt === attempt) ?? launches.at(-1);
  return PreparedWorkspace.safeParse(launched?.data.workspace).data;
}

async function listTouched(
  { store, workspaces }: Rooms,
  workspace: PreparedWorkspace,
  work: RecordedWork,
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

export function listPatched(patch: Buffer): string[] {
  return parsePatchHeaders(patch).flatMap(({ oldPath, newPath }) =>
    [oldPath, newPath].filter((path) => path !== null).map(showPath),
  );
}
