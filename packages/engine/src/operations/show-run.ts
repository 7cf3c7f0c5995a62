import type { DispatchResult } from '@caisson/protocol';
import { describeRun } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { isForgotten } from './run-forgotten.ts';

/** The run as its ledger tells it, and where its callbacks stand. */
export async function showRun(engine: Engine, runId: string): Promise<DispatchResult> {
  const result = await describeRun(engine.rooms, runId, { withContents: !isForgotten(engine, runId) });
  const callbacks = engine.callbacks.standings(runId);
  return callbacks.length === 0 ? result : { ...result, callbacks: [...callbacks] };
}
