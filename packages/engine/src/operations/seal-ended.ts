/** Seals what ended while nobody could sign: an agent was locked, or a key folder could not be read. */
import { isTerminal } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { isForgotten } from './run-forgotten.ts';
import { RunNotEndedError } from './retry-run.ts';

/** The runs that were sealed now, oldest first. Without a run, every one that ended unsealed is. */
export async function sealEnded(engine: Engine, runId?: string): Promise<readonly string[]> {
  const { ledger, sealer } = engine;
  if (runId !== undefined && ledger.run(runId)?.ending === undefined)
    throw new RunNotEndedError(`${runId} has not ended`, { remedy: 'A run is sealed after its ending.' });
  const sealed: string[] = [];
  for (const candidate of listUnsealed(engine, runId)) {
    await sealer.seal(candidate);
    sealed.push(candidate);
  }
  return sealed;
}

/** Runs that have an ending and no seal; one whose contents were taken away cannot be sealed any more. */
function listUnsealed(engine: Engine, runId: string | undefined): string[] {
  const ended: string[] = [];
  const sealed = new Set<string>();
  for (const event of engine.ledger.read(runId === undefined ? {} : { runId })) {
    if (event.runId === null) continue;
    if (isTerminal(event.type)) ended.push(event.runId);
    if (event.type === 'evidence.sealed') sealed.add(event.runId);
  }
  return ended.filter((id) => !sealed.has(id) && !isForgotten(engine, id));
}
