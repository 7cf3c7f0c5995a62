/** What a task would be as a run: every name resolved, every default filled in. It decides and writes nothing. */
import { createHash } from 'node:crypto';
import {
  createDefaultPipeline,
  DEFAULT_PRIORITY,
  definedOnly,
  parsePipelineSpec,
  type PipelineSpec,
  type Resolved,
  type ScriptLens,
} from '@caisson/protocol';
import { createRunId } from '../platform/index.ts';
import type { Candidate, DispatchRequest, WorkspaceKind } from './contract.ts';
import type { DispatchRooms, FoundAgent, FoundRuntime } from './rooms.ts';
import { describeTask } from './describe-task.ts';
import { TaskRefusedError } from './errors.ts';
import { withLogin } from './login-files.ts';
import { compilePrompts } from './prompts.ts';
import { resolveGrant } from './resolve-grant.ts';
import { listInputs } from './stored-inputs.ts';
import { toolBinds } from './tool-binds.ts';
import { defaultLens } from './verify-lens.ts';

export async function describeCandidate(
  rooms: DispatchRooms,
  request: DispatchRequest,
  trace: string,
): Promise<Candidate> {
  const { settings, names, clock } = rooms;
  const agent = request.agent === undefined ? null : await names.agent(request.agent);
  const runtime = useLogin(await chooseRuntime(rooms, request, agent), request);
  const tier = chooseModel(request, agent, runtime);
  const model = tier === '' ? '' : names.model(runtime.name, tier);
  const description = describeTask(request);
  const capabilities = await Promise.all(
    [...(agent?.definition.capabilities ?? []), ...(request.capabilities ?? [])].map((name) =>
      names.capability(name),
    ),
  );
  const envBundles = await Promise.all(
    [...(agent?.definition.envs ?? []), ...(request.envBundles ?? [])].map((name) => names.envBundle(name)),
  );
  const workspaceKind = await chooseWorkspace(request, rooms);
  const grant = resolveGrant(request, agent, settings, settings.projectRoot, envBundles);
  const declared = await choosePipeline(rooms, request, agent, defaultLens(workspaceKind, grant));
  const prompts = compilePrompts({ request, agent, runtime, description, place: { grant, workspaceKind } });
  const runId = request.runId ?? createRunId(clock);
  const resolved: Resolved = definedOnly({
    agent: agent === null ? undefined : { name: agent.name, hash: agent.hash },
    capabilities,
    env: envBundles.map(({ name, hash }) => ({ name, hash })),
    pipeline: declared.ref ?? undefined,
    model: { requested: model, served: [] },
  });
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
    inputs: listInputs(request, settings.cwd),
    workspaceKind,
    timeoutMs: chooseTimeoutMs(request, agent, grant, settings.timeoutMs),
    stallTimeoutMs: request.stallTimeoutMs ?? settings.stallTimeoutMs,
    retries: request.retries ?? settings.retries,
    session: request.session ?? null,
    trace,
    binds: toolBinds(settings, runtime, request),
  };
}

/** What the user agreed to before, or agrees to with this request; another run cannot. */
function useLogin(runtime: FoundRuntime, { login, parent }: DispatchRequest): FoundRuntime {
  return runtime.login || (login === true && parent === undefined) ? withLogin(runtime) : runtime;
}

async function chooseRuntime(
  rooms: DispatchRooms,
  request: DispatchRequest,
  agent: FoundAgent | null,
): Promise<FoundRuntime> {
  const { names, settings } = rooms;
  const usual = agent?.definition.runtime ?? settings.defaultRuntime;
  const chosen = request.runtime ?? (request.argv === undefined ? usual : 'command');
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

function chooseTimeoutMs(
  request: DispatchRequest,
  agent: FoundAgent | null,
  { limits: { wall } }: Candidate['grant'],
  usualMs: number,
): number {
  return Math.min(request.timeoutMs ?? agent?.definition.timeout ?? wall ?? usualMs, wall ?? Infinity);
}

/** Flag > agent > configuration > empty; an empty string is unset at every step. */
function chooseModel(request: DispatchRequest, agent: FoundAgent | null, runtime: FoundRuntime): string {
  return request.model || agent?.definition.model || runtime.model || '';
}

async function choosePipeline(
  rooms: DispatchRooms,
  request: DispatchRequest,
  agent: FoundAgent | null,
  usualLens: ScriptLens,
): Promise<{ spec: PipelineSpec; ref: { id: string; hash: string } | null }> {
  const asked = request.pipeline ?? agent?.definition.pipeline;
  if (typeof asked === 'string') {
    const found = await rooms.names.pipeline(asked);
    return { spec: found.spec, ref: { id: found.id, hash: found.hash } };
  }
  if (asked !== undefined) {
    const spec = parsePipelineSpec(asked);
    return {
      spec,
      ref: { id: spec.id, hash: createHash('sha256').update(JSON.stringify(spec)).digest('hex') },
    };
  }
  if (request.verify?.trim() === '')
    throw new TaskRefusedError({
      check: 'verify-command',
      kind: 'usage',
      detail: 'the verify command is empty',
      remedy: 'Leave it out, or name one: --verify "npm test".',
    });
  const verify = request.verify === undefined ? verifyOf(agent) : { command: request.verify };
  const lens = request.verifyLens ?? verify?.lens ?? usualLens;
  return {
    spec: createDefaultPipeline(verify === undefined ? {} : { verify: { ...verify, lens } }),
    ref: null,
  };
}

function verifyOf(
  agent: FoundAgent | null,
): { command: string; timeoutSeconds?: number; lens?: ScriptLens } | undefined {
  const verify = agent?.definition.verify;
  if (verify === undefined) return undefined;
  const { command, timeout, lens } = verify;
  const timeoutSeconds = timeout === undefined ? undefined : Math.ceil(timeout / 1000);
  return { command, ...definedOnly({ timeoutSeconds, lens }) };
}

/** In git a worktree; elsewhere the folder itself, under an exclusive lease. */
async function chooseWorkspace(
  request: DispatchRequest,
  { workspaces, settings: { projectRoot } }: DispatchRooms,
): Promise<WorkspaceKind> {
  if (request.workspace !== undefined) return request.workspace;
  return (await workspaces.findTop({ projectRoot })) === null ? 'in-place' : 'worktree';
}
