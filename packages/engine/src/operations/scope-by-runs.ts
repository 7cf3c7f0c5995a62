/** The scope that a call needs because of the run that it names, beyond what its input says. */
import type { DispatchRequest, Scope } from '@caisson/protocol';
import { listBeyondProject } from '../admission/index.ts';
import type { OperationName } from '../api/index.ts';
import type { Engine } from '../engine.ts';
import { isThreadStream } from '../ledger/index.ts';
import { resumesAsRecorded } from './continue-run.ts';
import { resolveRunId } from './resolve-run-id.ts';
import { readRequest } from './run-request.ts';

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
  switch (operation) {
    case 'dispatch':
      return await scopeOfStarting(engine, input['request'] as DispatchRequest);
    case 'send':
      return await scopeOfSteering(engine, input['run'] as string);
    case 'answer': {
      const given = input['question'] as string;
      return await scopeOfSteering(engine, engine.ledger.question(given)?.runId ?? given);
    }
    default:
      return ANY;
  }
}

/** To continue a run that waits for an answer is to answer it. */
async function scopeOfStarting(engine: Engine, request: DispatchRequest): Promise<NeededScope> {
  if (!(await resumesAsRecorded(engine, request))) return { scope: 'admin' };
  const { continues } = request;
  const isAnswer = continues !== undefined && engine.ledger.run(continues)?.status === 'waiting';
  return isAnswer ? { scope: 'decide' } : ANY;
}

/** Messages and answers act with the grant of their run, so it is one that a token could start. */
async function scopeOfSteering(engine: Engine, given: string): Promise<NeededScope> {
  if (isThreadStream(given)) return ANY;
  const runId = resolveRunId(engine.ledger, given);
  const [accepted] = engine.ledger.read({ runId, types: ['dispatch.accepted'] });
  if (accepted === undefined) return ANY; // refused by the operation
  const { grant, credential } = accepted.data;
  const { secrets, workspace, repo } = await readRequest(engine, runId);
  const { hosts } = engine.rooms.settings;
  const workspaceKind = workspace ?? (repo === undefined ? await usualWorkspace(engine) : 'worktree');
  const beyond = listBeyondProject({ grant, secrets, login: credential === 'inside', workspaceKind }, hosts);
  if (beyond.length === 0) return ANY;
  return {
    scope: 'admin',
    remedy: `${runId} has more than the project gives every run: ${beyond.join('; ')}. A person can do this.`,
  };
}

async function usualWorkspace({
  workspaces,
  config: { projectRoot },
}: Engine): Promise<'worktree' | 'in-place'> {
  return (await workspaces.findTop({ projectRoot })) === null ? 'in-place' : 'worktree';
}
