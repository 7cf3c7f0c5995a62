/** The moment a task becomes a run: every input is named by its digest, and durable. */
import { createHash } from 'node:crypto';
import { explainError, shareTurn } from '@caisson/ground';
import { definedOnly, type DataOf } from '@caisson/protocol';
import { NO_ATTEMPT, type RunRecord } from '../ledger/index.ts';
import type { AdmittedRun, DispatchRequest } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import { findCallerTrace } from './caller-trace.ts';
import { listMissing, withoutValues } from './passed-variables.ts';
import { poolOf, poolLimit } from './pool-limit.ts';
import { toStoredInputs } from './stored-inputs.ts';

export async function accept(rooms: DispatchRooms, run: AdmittedRun): Promise<void> {
  const { request, agent, session } = run;
  const { acceptance, branch, outsideScope, pool, idempotencyKey, continues } = request;
  rooms.callbacks.open(run.runId, request.callbacks ?? []);
  const data = definedOnly({
    task: {
      id: run.taskId,
      description: run.description,
      priority: run.priority,
      scope: request.scope ?? [],
      ...definedOnly({ acceptance, branch, outsideScope, pool }),
    },
    repository:
      request.repo === undefined ? undefined : { remote: request.repo, push: request.push ?? false },
    runtime: run.runtime.name,
    runtimeInfo: {
      version: run.runtime.version,
      bin: run.runtime.bin,
      adapter: run.runtime.adapter?.sha256 ?? null,
    },
    agent: agent?.name,
    host: rooms.hostId,
    pool: poolOf(run),
    session: session ?? undefined,
    idempotencyKey,
    continues,
    parent: request.parent?.runId,
    schedule: request.schedule,
    callerTrace: findCallerTrace(request, rooms.settings),
    grant: run.grant,
    timeoutMs: run.timeoutMs,
    resolved: run.resolved,
    ...inputDigests(run, rooms.settings.rules),
    requestRef: (await rooms.store.putBlob(Buffer.from(JSON.stringify(repeatable(run))))).digest,
  });
  await shareTurn();
  const record = rooms.recorder.of(run.runId, run.trace);
  const place = { ...NO_ATTEMPT, poolLimit: poolLimit(run, rooms.settings) };
  await record.append('dispatch.accepted', data, place);
  if (request.login === true && run.runtime.login) await rememberLogin(rooms, record, run.runtime.name);
}

/** The user agreed for this run and for later ones; without the note they are asked again. */
async function rememberLogin(rooms: DispatchRooms, record: RunRecord, runtime: string): Promise<void> {
  await rooms.rememberLogin(runtime).catch((error: unknown) => {
    const message = `your choice to use the log-in of ${runtime} could not be remembered: ${explainError(error)}`;
    record.keep('warning', { source: 'login', message: message.slice(0, 4000) }, NO_ATTEMPT);
  });
}

/** What the evidence manifest will name, by digest. */
function inputDigests(run: AdmittedRun, rules: readonly unknown[]): Partial<DataOf<'dispatch.accepted'>> {
  const names = [
    ...Object.keys(run.request.env ?? {}),
    ...listMissing(run.request),
    ...Object.keys(run.request.secrets ?? {}),
    ...run.envBundles.flatMap((bundle) => [...Object.keys(bundle.values), ...Object.keys(bundle.secrets)]),
  ];
  return {
    inputs: run.inputs.map(({ key, sha256 }) => ({ key, sha256, isStored: true })),
    envNames: [...new Set(names)].toSorted(),
    prompts: {
      ...(run.systemPrompt === '' ? {} : { system: sha256(run.systemPrompt) }),
      user: sha256(run.userPrompt),
    },
    pipeline: {
      id: run.pipeline.id,
      hash: run.resolved.pipeline?.hash ?? sha256(JSON.stringify(run.pipeline)),
    },
    rulesHash: sha256(JSON.stringify(rules)),
    credential: run.runtime.login ? 'inside' : run.runtime.apiKeyRef === null ? 'none' : 'broker',
  };
}

/**
 * The request for a later `caisson retry`: references to secrets and names of variables, never their values. The parent stays in it: a
 * repeated request does not get more than the parent's grant. An agreement to a log-in does not: it is for one runtime,
 * and the user's own file has it. A repetition has a trace of its own.
 */
function repeatable(run: AdmittedRun): DispatchRequest {
  const { runId: _runId, idempotencyKey: _key, ...request } = withoutValues(run.request);
  const { inputs: _files, login: _login, trace: _trace, schedule: _schedule, ...rest } = request;
  return { ...rest, ...toStoredInputs(run.inputs) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
