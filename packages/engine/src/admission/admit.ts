/**
 * Stage 1: a task becomes a run, or is refused with a reason. Names are resolved to hashes here, once: the task is a
 * candidate then. Checks look at it and change nothing; then its money is reserved; then it is accepted.
 */
import { randomBytes } from 'node:crypto';
import { shareTurn } from '@caisson/ground';
import { UnknownModeError } from '@caisson/policy';
import { definedOnly, formatTraceparent, parseTraceparent } from '@caisson/protocol';
import { PoolFullError } from '../ledger/index.ts';
import { accept } from './accept.ts';
import { ADMISSION_CHECKS, type CheckRooms } from './admission-checks.ts';
import type { AdmittedRun, Candidate, DispatchRequest } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import { describeCandidate, type CandidateRooms } from './describe-candidate.ts';
import { TaskRefusedError } from './errors.ts';
import { describeFull } from './pool-limit.ts';
import { findCallerTrace } from './caller-trace.ts';
import { refuseTask } from './refuse-task.ts';
import { withRepositoryAddress } from './remote-repository.ts';
import { parseRequest } from './request-shape.ts';
import { storeInputs } from './stored-inputs.ts';

/** Returns a run whose acceptance is durable. Throws TaskRefusedError after recording the refusal. */
export async function admit(rooms: DispatchRooms, request: DispatchRequest): Promise<AdmittedRun> {
  const trace = createTrace(rooms, request);
  try {
    return await acceptOrRefuse(rooms, await checkTask(rooms, request, trace));
  } catch (error) {
    const refused = asRefusal(error);
    if (refused === null) throw error;
    throw await refuseTask(rooms, request, refused, trace);
  }
}

type Checking = CandidateRooms & CheckRooms & Pick<DispatchRooms, 'budget'>;

/**
 * Everything that can refuse a task, without its acceptance: returns the run that it would be, or throws
 * TaskRefusedError, and records nothing. For rooms that are thrown away: the money stays reserved.
 */
export async function rehearse(rooms: Checking, request: DispatchRequest): Promise<Candidate> {
  try {
    return await checkTask(rooms, request, createTrace(rooms, request));
  } catch (error) {
    throw asRefusal(error) ?? error;
  }
}

/** The money of the candidate is reserved. */
async function checkTask(rooms: Checking, request: DispatchRequest, trace: string): Promise<Candidate> {
  await shareTurn();
  parseRequest(request);
  const asked = withRepositoryAddress(request, rooms.settings);
  const candidate = await describeCandidate(rooms, asked, trace);
  for (const check of ADMISSION_CHECKS) {
    await shareTurn();
    const refusal = await check.run(candidate, rooms);
    if (refusal !== null) throw new TaskRefusedError(refusal);
  }
  reserveMoney(rooms, candidate);
  return candidate;
}

/** What is reserved here is given back by the ending of the run, or at once where it is not accepted. */
function reserveMoney({ budget }: Checking, candidate: Candidate): void {
  const { runId, session, grant, model, runtime, request } = candidate;
  const refusal = budget.reserve({
    runId,
    session,
    caps: grant.budget,
    model,
    reportsCost: runtime.descriptor.reportsCost,
    usesModel: runtime.api !== 'none',
    ...definedOnly({ parent: request.parent?.runId }),
  });
  if (refusal !== null) throw new TaskRefusedError({ check: 'budget', ...refusal });
}

function asRefusal(error: unknown): TaskRefusedError | null {
  if (error instanceof TaskRefusedError) return error;
  if (!(error instanceof UnknownModeError)) return null;
  const { message: detail, remedy } = error;
  return new TaskRefusedError({ check: 'mode-known', kind: 'usage', detail, ...definedOnly({ remedy }) });
}

/** Another process may take the last place at this very moment; the reservation is released then. */
async function acceptOrRefuse(rooms: DispatchRooms, candidate: Candidate): Promise<AdmittedRun> {
  try {
    const run = { ...candidate, inputs: await storeInputs(rooms.store, candidate.inputs) };
    await accept(rooms, run);
    return run;
  } catch (error) {
    rooms.budget.settle(candidate.runId, undefined);
    if (!(error instanceof PoolFullError)) throw error;
    throw new TaskRefusedError({ check: 'queue-bound', ...describeFull(candidate, rooms.settings) });
  }
}

/** A span of its own for the run: in the caller's trace, or in a new one. */
function createTrace({ settings }: Checking, request: DispatchRequest): string {
  const caller = parseTraceparent(findCallerTrace(request, settings));
  const { traceId, flags } = caller ?? { traceId: randomBytes(16).toString('hex'), flags: '01' };
  return formatTraceparent({ traceId, spanId: randomBytes(8).toString('hex'), flags });
}
