/** The same task again, as a new run that continues the old one; nothing of the old run changes. */
import { CaissonError, definedOnly } from '@caisson/protocol';
import { findConversationOfRun } from '../attempt/index.ts';
import { describeRun } from '../dispatch/index.ts';
import { type DispatchRequest, type RunHandle } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { readRequest } from './run-request.ts';

/** The run is still under way. */
export class RunNotEndedError extends CaissonError {
  readonly code = 'RUN_NOT_ENDED';
}

export async function retryRun(
  engine: Engine,
  runId: string,
  changes: Partial<DispatchRequest> = {},
): Promise<RunHandle> {
  const row = engine.ledger.run(runId);
  if (row?.ending === undefined)
    throw new RunNotEndedError(`${runId} has not ended`, {
      remedy: `Wait for it, or stop it: caisson cancel ${runId}`,
    });
  const request = await readRequest(engine, runId);
  const { result } = await describeRun(engine.rooms, runId);
  const resume = findConversationOfRun(engine, runId, result);
  return engine.dispatcher.dispatch({
    ...request,
    ...definedOnly({ resume }),
    ...changes,
    continues: runId,
  });
}
