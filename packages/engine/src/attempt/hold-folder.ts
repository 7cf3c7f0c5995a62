/**
 * If a run works on the user's own files, no other run may. The ledger separates the runs of one state folder; the
 * claim on the folder itself also stops processes with another state folder.
 */
import { claimFolder } from '@caisson/ground';
import type { AdmittedRun, DispatchRooms } from '../admission/index.ts';
import { PrepareFailure } from './prepare-failure.ts';

const releases = new Map<string, () => void>();

/** May be called again by another attempt of the same run. */
export async function holdFolder(
  rooms: DispatchRooms,
  { runId }: Pick<AdmittedRun, 'runId'>,
  signal: AbortSignal,
): Promise<void> {
  const { projectRoot, userState } = rooms.settings;
  const name = folderLease(projectRoot);
  const { ledger, hostId } = rooms;
  if (!(await ledger.whenFree(() => ledger.leases.tryHold(name, runId, hostId), signal)))
    throw inUse(ledger.leases.holderOf(name)?.holder);
  if (releases.has(runId)) return;
  const folder = (await rooms.workspaces.findTop({ projectRoot })) ?? projectRoot;
  const claim = await claimFolder(folder, runId, userState);
  if (claim.kind === 'claimed') releases.set(runId, claim.release);
  else if (claim.holder !== runId) throw inUse(nameHolder(claim.holder)); // its own worker has it after an adoption
}

/** Releases the folder, if the run had it. */
export function freeFolder({ ledger, settings }: DispatchRooms, runId: string): void {
  releases.get(runId)?.();
  releases.delete(runId);
  ledger.leases.free(folderLease(settings.projectRoot), runId);
}

function folderLease(projectRoot: string): string {
  return `in-place:${projectRoot}`;
}

/** Only what looks like one of us is shown. */
function nameHolder(holder: string | null): string | undefined {
  return holder !== null && /^(?:run_[0-9a-z]{20}|caisson apply)$/.test(holder) ? holder : undefined;
}

function inUse(holder = 'another run'): PrepareFailure {
  return new PrepareFailure({
    reason: 'worker-failed',
    detail: `the folder is in use by ${holder}, which works in place. Wait for it, or use --workspace empty, or a git repository.`,
  });
}
