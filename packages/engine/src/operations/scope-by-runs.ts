/** The scope that a call needs because of the run that it names or the project's folder, beyond what its input says. */
import type { DispatchRequest, Scope } from '@caisson/protocol';
import type { OperationName } from '../api/index.ts';
import type { Engine } from '../engine.ts';
import { resumesAsRecorded } from './continue-run.ts';

export interface NeededScope {
  readonly scope: Scope;
  /** What else than another token helps. */
  readonly remedy?: string;
}

const ANY: NeededScope = { scope: 'read' };

export async function scopeByRuns(
  engine: Engine,
  operation: OperationName,
  input: Readonly<Record<string, unknown>>,
): Promise<NeededScope> {
  return operation === 'dispatch' ? await scopeOfStarting(engine, input['request'] as DispatchRequest) : ANY;
}

/** To continue a run that waits for an answer is to answer it. */
async function scopeOfStarting(engine: Engine, request: DispatchRequest): Promise<NeededScope> {
  if (await worksInPlace(engine, request))
    return {
      scope: 'admin',
      remedy: 'The run would change the files themselves: after git init it gets a copy of them.',
    };
  if (!(await resumesAsRecorded(engine, request))) return { scope: 'admin' };
  const { continues } = request;
  const isAnswer = continues !== undefined && engine.ledger.run(continues)?.status === 'waiting';
  return isAnswer ? { scope: 'decide' } : ANY;
}

/** Outside git a run works in the user's own folder where nothing else is asked for. */
async function worksInPlace(
  { workspaces, config: { projectRoot } }: Engine,
  { workspace, repo }: DispatchRequest,
): Promise<boolean> {
  if (workspace !== undefined) return workspace === 'in-place';
  return repo === undefined && (await workspaces.findTop({ projectRoot })) === null;
}
