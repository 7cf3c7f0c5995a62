/** The scope that a call needs because of the run that it names, beyond what its input says. */
import type { DispatchRequest, Scope } from '@caisson/protocol';
import type { OperationName } from '../api/index.ts';
import type { Engine } from '../engine.ts';
import { resumesAsRecorded } from './continue-run.ts';
import { resolveRunId } from './resolve-run-id.ts';
import { showRun } from './show-run.ts';

export async function scopeByRuns(
  engine: Engine,
  operation: OperationName,
  input: Readonly<Record<string, unknown>>,
): Promise<Scope> {
  if (operation === 'dispatch') return await scopeOfContinuing(engine, input['request'] as DispatchRequest);
  return operation === 'apply' ? await scopeOfApplying(engine, input['run'] as string) : 'read';
}

/** To continue a run that waits for an answer is to answer it. */
async function scopeOfContinuing(engine: Engine, request: DispatchRequest): Promise<Scope> {
  if (!(await resumesAsRecorded(engine, request))) return 'admin';
  const { continues } = request;
  return continues !== undefined && engine.ledger.run(continues)?.status === 'waiting' ? 'decide' : 'read';
}

/** What the command line asks a person about: work that did not pass its check, and work on another repository. */
async function scopeOfApplying(engine: Engine, run: string): Promise<Scope> {
  const { repository, result } = await showRun(engine, resolveRunId(engine.ledger, run));
  return repository !== undefined || result?.verify?.passed === false ? 'admin' : 'read';
}
