/** Whether the worker of a dead host's run goes on and waits for the next host. */
import { ADOPTION_VERSION } from '@caisson/protocol';
import type { AdoptableRun, DispatchRooms } from '../admission/index.ts';
import { attemptPaths } from '../attempt/index.ts';
import { WorkerHandle } from '../compute/index.ts';
import type { RunRow } from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';

/** `foreign`: a worker waits that this process cannot drive. */
export type FoundWorker =
  | { readonly kind: 'adoptable'; readonly run: AdoptableRun }
  | { readonly kind: 'foreign'; readonly why: string }
  | null;

type Rooms = Pick<DispatchRooms, 'ledger' | 'compute' | 'settings' | 'workspaces'>;

export async function findAdoptable(rooms: Rooms, row: RunRow): Promise<FoundWorker> {
  const { runId } = row;
  const last = rooms.ledger.attempts(runId).at(-1);
  if (last?.startedAt === undefined || last.endedAt !== undefined) return null;
  const [launched] = rooms.ledger
    .read({ runId, types: ['attempt.launched'] })
    .filter((event) => event.attempt === last.attempt);
  const adoption = launched?.data.adoption;
  if (launched === undefined || adoption === undefined) return null;
  const { attempt } = launched;
  const { control } = attemptPaths(rooms.settings.stateDir, runId, attempt);
  if (!(await rooms.compute.canAdopt(WorkerHandle.parse(launched.data.handle), control))) return null;
  if (adoption.version !== ADOPTION_VERSION) {
    const why = `its worker speaks version ${adoption.version} of adoption, and this Caisson ${ADOPTION_VERSION}`;
    return { kind: 'foreign', why };
  }
  const { stateDir } = rooms.settings;
  const workspace = PreparedWorkspace.parse(launched.data.workspace);
  if (!(await rooms.workspaces.isWithinState(workspace, { stateDir })))
    return { kind: 'foreign', why: `its worker works in ${workspace.attemptDir}, outside of ${stateDir}` };
  return { kind: 'adoptable', run: { row, launched, adoption } };
}
