/** Stage 1: a task becomes a run, or is refused with a reason. Names are resolved to hashes here, once. */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { pipeline as pump } from 'node:stream/promises';
import {
  createDefaultPipeline,
  DEFAULT_PRIORITY,
  parsePipelineSpec,
  type PipelineSpec,
  type Resolved,
} from '@caisson/protocol';
import { UnknownModeError } from '@caisson/policy';
import { PoolFullError } from '../ledger/index.ts';
import { createRunId } from '../platform/index.ts';
import { ADMISSION_CHECKS } from './admission-checks.ts';
import type {
  AdmittedRun,
  DispatchRequest,
  DispatchRooms,
  FoundAgent,
  FoundRuntime,
  Refusal,
  WorkspaceKind,
} from './contract.ts';
import { TaskRefusedError } from './errors.ts';
import { describeFull, poolOf, poolRoom } from './pool-room.ts';
import { compilePrompts } from './prompts.ts';
import { findBadShape } from './request-shape.ts';
import { resolveGrant } from './resolve-grant.ts';
import { createRunRecord } from './run-record.ts';
import { toolBinds } from './tool-binds.ts';

/** Returns a run whose acceptance is durable. Throws TaskRefusedError after recording the refusal. */
export async function admit(rooms: DispatchRooms, request: DispatchRequest): Promise<AdmittedRun> {
  const trace = createTrace();
  try {
    refuseBadShape(request);
    const candidate = await describeCandidate(rooms, request, trace);
    for (const check of ADMISSION_CHECKS) {
      const refusal = await check.run(candidate, rooms);
      if (refusal !== null) throw new TaskRefusedError(refusal);
    }
    await acceptOrRefuse(rooms, candidate);
    return candidate;
  } catch (error) {
    const refused = asRefusal(error);
    if (refused === null) throw error;
    const { check, detail } = refused.refusal;
    await createRunRecord(rooms, null, trace).append('task.refused', {
      check,
      detail,
      task: String(request.task ?? '').slice(0, 1000),
    });
    throw refused;
  }
}

/** Before anything looks at the request: nobody else asks what its members are. */
function refuseBadShape(request: DispatchRequest): void {
  const refusal = findBadShape(request);
  if (refusal !== null) throw new TaskRefusedError({ check: 'request-shape', ...refusal });
}

function asRefusal(error: unknown): TaskRefusedError | null {
  if (error instanceof TaskRefusedError) return error;
  if (!(error instanceof UnknownModeError)) return null;
  const refusal: Refusal = { check: 'mode-known', kind: 'usage', detail: error.message };
  return new TaskRefusedError(error.remedy === undefined ? refusal : { ...refusal, remedy: error.remedy });
}

/** The last place may be taken by another process at this very moment; what was reserved for nothing is given back. */
async function acceptOrRefuse(rooms: DispatchRooms, run: AdmittedRun): Promise<void> {
  try {
    await accept(rooms, run);
  } catch (error) {
    rooms.budget.settle(run.runId, undefined);
    if (!(error instanceof PoolFullError)) throw error;
    throw new TaskRefusedError({ check: 'queue-bound', ...describeFull(run, rooms.settings) });
  }
}

async function accept(rooms: DispatchRooms, run: AdmittedRun): Promise<void> {
  const { request } = run;
  rooms.callbacks.open(run.runId, request.callbacks ?? []);
  const data = {
    task: {
      id: run.taskId,
      description: run.description,
      priority: run.priority,
      scope: request.scope ?? [],
      ...(request.acceptance === undefined ? {} : { acceptance: request.acceptance }),
      ...(request.branch === undefined ? {} : { branch: request.branch }),
    },
    runtime: run.runtime.name,
    runtimeInfo: {
      version: run.runtime.version,
      bin: run.runtime.bin,
      adapter: run.runtime.adapter?.sha256 ?? null,
    },
    ...(run.agent === null ? {} : { agent: run.agent.name }),
    host: rooms.hostId,
    pool: poolOf(run),
    ...(run.session === null ? {} : { session: run.session }),
    ...(request.idempotencyKey === undefined ? {} : { idempotencyKey: request.idempotencyKey }),
    ...(request.continues === undefined ? {} : { continues: request.continues }),
    grant: run.grant,
    resolved: run.resolved,
    ...wentIn(run, rooms.settings.rules),
    requestRef: (await rooms.store.putBlob(Buffer.from(JSON.stringify(repeatable(run))))).digest,
  };
  const record = createRunRecord(rooms, run.runId, run.trace);
  await record.append('dispatch.accepted', data, { room: poolRoom(run, rooms.settings) });
}

/** What the evidence manifest will name, by digest. */
function wentIn(run: AdmittedRun, rules: readonly unknown[]): Record<string, unknown> {
  const names = [
    ...Object.keys(run.request.env ?? {}),
    ...Object.keys(run.request.secrets ?? {}),
    ...run.envBundles.flatMap((bundle) => [...Object.keys(bundle.values), ...Object.keys(bundle.secrets)]),
  ];
  return {
    inputs: run.inputs.map(({ key, sha256 }) => ({ key, sha256 })),
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

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * The request as `caisson retry` will ask for it again: references to secrets, never their values. The parent stays
 * in it: what an agent asked for beyond its own grant is not given by repeating it.
 */
function repeatable(run: AdmittedRun): DispatchRequest {
  const { runId: _runId, idempotencyKey: _key, ...rest } = run.request;
  return rest;
}

async function describeCandidate(
  rooms: DispatchRooms,
  request: DispatchRequest,
  trace: string,
): Promise<AdmittedRun> {
  const { settings, names, clock } = rooms;
  const agent = request.agent === undefined ? null : await names.agent(request.agent);
  const runtime = await chooseRuntime(rooms, request, agent);
  const tier = chooseModel(request, agent, runtime);
  const model = tier === '' ? '' : names.model(runtime.name, tier);
  const description = request.task ?? (request.argv ?? []).join(' ');
  const capabilities = await Promise.all(
    [...(agent?.definition.capabilities ?? []), ...(request.capabilities ?? [])].map((name) =>
      names.capability(name),
    ),
  );
  const envBundles = await Promise.all(
    [...(agent?.definition.envs ?? []), ...(request.envBundles ?? [])].map((name) => names.envBundle(name)),
  );
  const declared = await choosePipeline(rooms, request, agent);
  const workspaceKind = chooseWorkspace(request, settings.projectRoot);
  const grant = resolveGrant(request, agent, settings, settings.projectRoot, envBundles);
  const prompts = compilePrompts({ request, agent, runtime, description, place: { grant, workspaceKind } });
  const runId = request.runId ?? createRunId(clock);
  const resolved: Resolved = {
    ...(agent === null ? {} : { agent: { name: agent.name, hash: agent.hash } }),
    capabilities,
    env: envBundles.map(({ name, hash }) => ({ name, hash })),
    ...(declared.ref === null ? {} : { pipeline: declared.ref }),
    model: { requested: model, served: [] },
  };
  return {
    runId,
    request,
    taskId: runId,
    description,
    createdAt: clock.now().toISOString(),
    priority: request.priority ?? DEFAULT_PRIORITY,
    runtime,
    agent,
    model,
    tier,
    ...prompts,
    grant,
    pipeline: declared.spec,
    resolved,
    capabilities,
    envBundles,
    inputs: await describeInputs(request, settings.cwd),
    workspaceKind,
    timeoutMs: Math.min(
      request.timeoutMs ?? agent?.definition.timeout ?? grant.limits.wall ?? settings.timeoutMs,
      grant.limits.wall ?? Infinity,
    ),
    stallTimeoutMs: request.stallTimeoutMs ?? settings.stallTimeoutMs,
    retries: request.retries ?? settings.retries,
    session: request.session ?? null,
    trace,
    binds: toolBinds(settings, runtime, request),
  };
}

async function chooseRuntime(
  rooms: DispatchRooms,
  request: DispatchRequest,
  agent: FoundAgent | null,
): Promise<FoundRuntime> {
  const { names, settings } = rooms;
  const chosen = request.runtime ?? agent?.definition.runtime ?? settings.defaultRuntime;
  if (chosen !== null) return names.runtime(chosen);
  const usable = await names.usableRuntimes();
  const [only] = usable;
  if (usable.length === 1 && only !== undefined) return names.runtime(only);
  throw new TaskRefusedError({
    check: 'runtime-chosen',
    kind: 'usage',
    detail:
      usable.length === 0
        ? 'no agent program was found here'
        : `several runtimes are here: ${usable.join(', ')}`,
    remedy:
      usable.length === 0
        ? 'Install one (caisson runtimes lists them), or run a command: caisson run --runtime command -- CMD'
        : `Choose one with --runtime, or set "runtime:" in caisson.yaml.`,
  });
}

/** Flag > agent > configuration > empty; an empty string is unset at every step. */
function chooseModel(request: DispatchRequest, agent: FoundAgent | null, runtime: FoundRuntime): string {
  return request.model || agent?.definition.model || runtime.model || '';
}

async function choosePipeline(
  rooms: DispatchRooms,
  request: DispatchRequest,
  agent: FoundAgent | null,
): Promise<{ spec: PipelineSpec; ref: { id: string; hash: string } | null }> {
  const asked = request.pipeline ?? agent?.definition.pipeline;
  if (typeof asked === 'string') {
    const found = await rooms.names.pipeline(asked);
    return { spec: found.spec, ref: { id: found.id, hash: found.hash } };
  }
  if (asked !== undefined) {
    const spec = parsePipelineSpec(asked);
    return { spec, ref: { id: spec.id, hash: sha256(JSON.stringify(spec)) } };
  }
  if (request.verify?.trim() === '')
    throw new TaskRefusedError({
      check: 'verify-command',
      kind: 'usage',
      detail: 'the verify command is empty',
      remedy: 'Leave it out, or name one: --verify "npm test".',
    });
  const verify = request.verify ?? verifyOf(agent);
  return { spec: createDefaultPipeline(verify === undefined ? {} : { verify }), ref: null };
}

function verifyOf(
  agent: FoundAgent | null,
): NonNullable<Parameters<typeof createDefaultPipeline>[0]>['verify'] {
  const verify = agent?.definition.verify;
  if (verify === undefined) return undefined;
  const { command, timeout, lens } = verify;
  return {
    command,
    ...(timeout === undefined ? {} : { timeoutSeconds: Math.ceil(timeout / 1000) }),
    ...(lens === undefined ? {} : { lens }),
  };
}

/** In git a worktree; elsewhere the folder itself, under an exclusive lease. */
function chooseWorkspace(request: DispatchRequest, projectRoot: string): WorkspaceKind {
  if (request.workspace !== undefined) return request.workspace;
  for (let folder = projectRoot; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return 'worktree';
    if (folder === dirname(folder)) return 'in-place';
  }
}

async function describeInputs(request: DispatchRequest, cwd: string): Promise<AdmittedRun['inputs']> {
  const entries = Object.entries(request.inputs ?? {});
  return Promise.all(
    entries.map(async ([key, path]) => {
      const full = isAbsolute(path) ? path : resolve(cwd, path);
      return { key, path: full, sha256: await hashIfFile(full) };
    }),
  );
}

/** A missing file is refused by the check `inputs-present`; here it only has no digest. */
async function hashIfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  if (statSync(path, { throwIfNoEntry: false })?.isFile() ?? false) await pump(createReadStream(path), hash);
  return hash.digest('hex');
}

/** A W3C traceparent for the run. */
function createTrace(): string {
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
}
