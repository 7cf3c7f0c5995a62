/**
 * A new run that continues an ended one; nothing of the ended one changes. A retry repeats its task. A continuation has
 * a task of its own about the work that was done, so it begins with that work. Both ask for what the ended run asked
 * for, except for what is changed, and both resume its conversation where there is one.
 */
import { isDeepStrictEqual } from 'node:util';
import { CaissonError, definedOnly } from '@caisson/protocol';
import { findConversationOfRun } from '../attempt/index.ts';
import { describeRun } from '../dispatch/index.ts';
import { findTakenBranch, joinVariables, type DispatchRequest } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { isForgotten } from './run-forgotten.ts';
import { readRequest } from './run-request.ts';

/** The run is still under way. */
export class RunNotEndedError extends CaissonError {
  readonly code = 'RUN_NOT_ENDED';
}

/** The run had no agent that reads a text, or it waits for an answer. */
export class RunNotContinuableError extends CaissonError {
  readonly code = 'RUN_NOT_CONTINUABLE';
}

export type RunChanges = Partial<DispatchRequest>;

/** The request that goes on from the work of a run or, without a text, repeats its task. */
export async function describeContinuation(
  engine: Engine,
  runId: string,
  text: string | null,
  changes: RunChanges = {},
): Promise<DispatchRequest> {
  return text === null ? describeRetry(engine, runId, changes) : describeNext(engine, runId, text, changes);
}

/** Whether it resumes nothing, or a conversation as the run that it continues has recorded it, usage included. */
export async function resumesAsRecorded(
  engine: Engine,
  { continues, resume }: DispatchRequest,
): Promise<boolean> {
  if (resume === undefined) return true;
  if (continues === undefined || engine.ledger.run(continues) === null) return false;
  const { result } = await describeRun(engine.rooms, continues);
  const { resume: resumed } = await readRequest(engine, continues);
  const own = findConversationOfRun(engine, continues, result);
  return [own, resumed].some((known) => isDeepStrictEqual(known, resume));
}

async function describeRetry(engine: Engine, runId: string, changes: RunChanges): Promise<DispatchRequest> {
  requireEnded(engine, runId, `Wait for it, or stop it: caisson cancel ${runId}`);
  const request = await readContinued(engine, runId, changes);
  if (request.argv === undefined || changes.task === undefined) return request;
  throw new RunNotContinuableError(`${runId} ran a command, which has no task to change`, {
    remedy: 'Run the other command: caisson run -- CMD',
  });
}

async function describeNext(
  engine: Engine,
  runId: string,
  text: string,
  changes: RunChanges,
): Promise<DispatchRequest> {
  requireEnded(engine, runId, `Send it a message: caisson send ${runId} "…"`);
  if (engine.ledger.run(runId)?.status === 'waiting')
    throw new RunNotContinuableError(`${runId} waits for the answer to its question`, {
      remedy: `Answer it: caisson answer ${runId} "…"`,
    });
  const { answer: _answer, ...request } = await readContinued(engine, runId, changes);
  if (request.argv !== undefined) throw describeCommand(engine, runId);
  const kept = changes.branch === undefined ? await withoutTakenBranch(engine, request) : request;
  return { ...kept, task: text, keepWork: runId };
}

function requireEnded({ ledger }: Engine, runId: string, remedy: string): void {
  if (ledger.run(runId)?.ending === undefined)
    throw new RunNotEndedError(`${runId} has not ended`, { remedy });
}

/** What the run asked for, changed, with its conversation. */
async function readContinued(engine: Engine, runId: string, changes: RunChanges): Promise<DispatchRequest> {
  const { runtime } = engine.ledger.run(runId) ?? {};
  const isOther = changes.runtime !== undefined && changes.runtime !== runtime;
  const { resume: resumed, ...stored } = await readRequest(engine, runId);
  const request = changeRequest(stored, changes, isOther);
  const { result } = await describeRun(engine.rooms, runId);
  const isSame = stored.continues !== undefined && engine.ledger.run(stored.continues)?.runtime === runtime;
  const resume = findConversationOfRun(engine, runId, result) ?? (isSame ? resumed : undefined);
  return { ...request, ...definedOnly({ resume }), continues: runId };
}

/** The branch was asked for another task: that its user works on it now is no reason to refuse this one. */
async function withoutTakenBranch(engine: Engine, request: DispatchRequest): Promise<DispatchRequest> {
  const { branch: _branch, ...rest } = request;
  const workspaceKind = request.workspace === 'empty' ? 'empty' : 'worktree';
  return (await findTakenBranch({ request, workspaceKind }, engine.rooms)) === null ? request : rest;
}

/** Values with names (variables, caps) are changed one by one: an unmentioned cap stays. */
function changeRequest(
  request: DispatchRequest,
  changes: RunChanges,
  isOtherRuntime: boolean,
): DispatchRequest {
  const { model: _model, argv: _argv, folder: _folder, ...rest } = request; // each means something to one runtime
  const joined = (['secrets', 'inputs', 'budget', 'limits'] as const)
    .filter((key) => changes[key] !== undefined)
    .map((key) => [key, { ...request[key], ...changes[key] }]);
  const { env: _env, passEnv: _passed, lackingEnv: _lacking, ...kept } = isOtherRuntime ? rest : request;
  return { ...kept, ...changes, ...Object.fromEntries(joined), ...joinVariables(request, changes) };
}

/** Among so many of the newest runs one of an agent is looked for, to name it. */
const LOOKED_AT = 200;

function describeCommand(engine: Engine, runId: string): RunNotContinuableError {
  const other = engine.ledger
    .runs({ newestFirst: true, limit: LOOKED_AT })
    .find((row) => row.runtime !== 'command' && row.ending !== undefined && !isForgotten(engine, row.runId));
  const named = other === undefined ? '' : `Name a run of an agent: caisson continue ${other.runId} "…". `;
  return new RunNotContinuableError(`${runId} ran a command, and had no agent that reads a text`, {
    remedy: `${named}To let an agent go on from what the command did: caisson continue ${runId} "…" --runtime NAME`,
  });
}
