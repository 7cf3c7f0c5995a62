import { parseRequest, RunNotFoundError, type DispatchRequest } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { requireRemembered } from './run-forgotten.ts';

/** The request of a run, as it was accepted. */
export async function readRequest(
  engine: Pick<Engine, 'ledger' | 'store'>,
  runId: string,
): Promise<DispatchRequest> {
  requireRemembered(engine, runId);
  const [accepted] = engine.ledger.read({ runId, types: ['dispatch.accepted'] });
  const ref = accepted?.data.requestRef;
  if (ref === undefined) throw new RunNotFoundError(runId);
  return parseRequest(JSON.parse((await engine.store.getBlob(ref)).toString('utf8')));
}
