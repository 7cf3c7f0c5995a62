/** Keeps the trash within its limits, and records what is deleted: nothing goes without a word. */
import { basename } from 'node:path';
import { explainError } from '@caisson/ground';
import { BusTopic, definedOnly } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import type { DeletedTrash, EmptiedTrash, EmptyTrashOptions } from '../workspace/index.ts';

type Choice = Partial<Pick<EmptyTrashOptions, 'trashTtlMs' | 'heldBackTtlMs' | 'oldest'>>;

export async function emptyTrash(engine: Engine, choice: Choice = {}): Promise<EmptiedTrash> {
  const { stateDir, limits } = engine.config;
  return await engine.workspaces.gc({
    stateDir,
    trashTtlMs: limits.trashAgeMs,
    trashBytes: limits.trashBytes,
    ...definedOnly(choice),
    onDeleted: (deleted) => recordDeletion(engine, deleted),
  });
}

/** Never rejects: on a full disk what frees space must not fail because it cannot be recorded. */
async function recordDeletion({ ledger, recorder, bus }: Engine, deleted: DeletedTrash): Promise<void> {
  const { path, runId, bytes, why } = deleted;
  if (why === null || ledger.run(runId) === null) return;
  try {
    const [name, attempt] = [basename(path), Number(basename(path).split('.')[1])];
    await recorder
      .of(runId)
      .append('trash.deleted', { path, bytes, why }, { attempt, id: `trash.deleted:${name}` });
  } catch (error) {
    const message = `${path} was deleted from the trash (${why}), and that could not be recorded: ${explainError(error)}`;
    bus.emit(BusTopic.WARNING, { source: 'sweep', message });
  }
}
