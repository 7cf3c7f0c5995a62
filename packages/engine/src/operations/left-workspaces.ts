/** Attempt folders that runs which are over left: they are saved and removed, and what became of each is reported. */
import { BusTopic } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import type { RemoveResult } from '../workspace/index.ts';

/** What became of one folder. `from`: it was made there, before the state folder was moved. */
export interface Removal {
  readonly runId: string;
  readonly attemptDir: string;
  readonly result: Exclude<RemoveResult, { kind: 'refused' }>;
  readonly from?: string;
}

/** Returns whether a run has ended, and no host is still cleaning up after it. */
export function findLeft(ledger: Engine['ledger']): (runId: string) => boolean {
  const held = new Set(ledger.leases.listSlots().map((slot) => slot.runId));
  return (runId) => ledger.run(runId)?.ending !== undefined && !held.has(runId);
}

/** Saves and removes the folders of runs that are over. */
export async function removeLeftWorkspaces(
  engine: Engine,
  isOver: (runId: string) => boolean,
): Promise<readonly Removal[]> {
  const { stateDir } = engine.config;
  const removals: Removal[] = (await engine.workspaces.trashMoved({ stateDir, isOver })).map(
    ({ trashed, ...moved }) => ({ ...moved, result: { kind: 'trashed', path: trashed, isSaved: false } }),
  );
  for (const { runId, prepared } of await engine.workspaces.recoverList({ stateDir })) {
    if (prepared === null || !isOver(runId)) continue;
    const { attemptDir } = prepared;
    try {
      await engine.workspaces.checkpoint(prepared);
      const result = await engine.workspaces.remove(prepared);
      if (result.kind !== 'refused') removals.push({ runId, attemptDir, result });
    } catch (error) {
      // One that cannot be removed is kept and reported; it must not stop the rest of the clean-up.
      const message = `${attemptDir} was left in place: ${(error as Error).message.slice(0, 500)}`;
      engine.bus.emit(BusTopic.WARNING, { source: 'sweep', message });
    }
  }
  return removals;
}

/** One removal, for a person: where unsaved work is, and how to get it back. */
export function describeRemoval({ runId, attemptDir, result, from }: Removal): string {
  if (result.kind === 'removed' || result.isSaved)
    return `${attemptDir}, which ${runId} had left, was removed`;
  const why =
    from === undefined
      ? 'not all of it could be saved'
      : `it was made in ${from}, before the state folder was moved, and cannot be saved from here`;
  return `${attemptDir}, which ${runId} had left, was moved to the trash: ${why}. Nothing is deleted there by itself: take what you need from ${result.path}, then caisson forget ${runId}`;
}
