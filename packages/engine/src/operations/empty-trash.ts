/** Keeps the trash within its limits, and records what is deleted: nothing goes without a word. */
import { basename, dirname } from 'node:path';
import { explainError } from '@caisson/ground';
import { BusTopic, definedOnly } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import type { DeletedTrash, EmptiedTrash, EmptyTrashOptions } from '../workspace/index.ts';

type Choice = Partial<Pick<EmptyTrashOptions, 'trashTtlMs' | 'heldBackTtlMs' | 'oldest' | 'onlySize'>>;

export async function emptyTrash(engine: Engine, choice: Choice = {}): Promise<EmptiedTrash> {
  const { stateDir, limits } = engine.config;
  return await engine.workspaces.gc({
    stateDir,
    trashTtlMs: limits.trashAgeMs,
    trashBytes: limits.trashBytes,
    ...definedOnly(choice),
    onDeleted: (deleted) => recordDeletion(engine, deleted),
    onProblem: (message) => void engine.bus.emit(BusTopic.WARNING, { source: 'sweep', message }),
  });
}

/** Never rejects: on a full disk what frees space must not fail because it cannot be recorded. */
async function recordDeletion({ ledger, recorder, bus }: Engine, deleted: DeletedTrash): Promise<void> {
  const { path, runId, bytes, why } = deleted;
  if (why === null || ledger.run(runId) === null) return;
  try {
    const [folder, name] = [basename(dirname(path)), basename(path)];
    // A process that was killed after this is finished by another, which records it again: the same id adds nothing.
    const where = { attempt: Number(name.split('.')[1]), id: `trash.deleted:${folder}/${name}` };
    await recorder.of(runId).append('trash.deleted', { path, bytes, why }, where);
  } catch (error) {
    const message = `${path} was deleted from the trash (${why}), and that could not be recorded: ${explainError(error)}`;
    bus.emit(BusTopic.WARNING, { source: 'sweep', message });
  }
}
