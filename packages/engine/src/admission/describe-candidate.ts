/** What a task would be as a run: every name resolved, every default filled in. It decides and writes nothing. */
import { createHash } from 'node:crypto';
import { shareTurn } from '@caisson/ground';
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
import type { DispatchRooms, FoundAgent } from './rooms.ts';
import { describeProspect } from './choose-runtime.ts';
import { describeTask } from './describe-task.ts';
import { TaskRefusedError } from './errors.ts';
import { compilePrompts } from './prompts.ts';
import { managerFiles } from './manager-files.ts';
import { lacksVariable, takeVariables } from './passed-variables.ts';
import { listInputs } from './stored-inputs.ts';
import { toolBinds } from './tool-binds.ts';
import { defaultLens } from './verify-lens.ts';

export type CandidateRooms = Pick<DispatchRooms, 'settings' | 'names' | 'clock' | 'workspaces'>;

export async function describeCandidate(
  rooms: CandidateRooms,
  asked: DispatchRequest,
  trace: string,
): Promise<Candidate> {
  const { settings, names, clock } = rooms;
  const request = takeVariables(asked, settings);
  const agent = request.agent === undefined ? null : await names.agent(request.agent);
  const description = describeTask(request);
  const capabilities = await Promise.all(
    [...(agent?.definition.capabilities ?? []), ...(request.capabilities ?? [])].map((name) =>
      names.capability(name),
    ),
  );
  const envBundles = await Promise.all(
    [...(agent?.definition.envs ?? []), ...(request.envBundles ?? [])].map((name) => names.envBundle(name)),
  );
  const prospect = await describeProspect(rooms, request, agent, envBundles);
  const { runtime, model, grant } = prospect;
  await shareTurn();
  const workspaceKind = await chooseWorkspace(request, rooms);
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
    ...prospect,
    runId,
    taskId: request.taskId ?? runId,
    description,
    createdAt: clock.now().toISOString(),
    priority: request.priority ?? DEFAULT_PRIORITY,
    ...prompts,
    pipeline: declared.spec,
    resolved,
    capabilities,
    inputs: listInputs(request, settings.cwd),
    workspaceKind,
    timeoutMs: chooseTimeoutMs(request, agent, grant, settings.timeoutMs),
    stallTimeoutMs: request.stallTimeoutMs ?? settings.stallTimeoutMs,
    retries: lacksVariable(request, settings) ? 0 : (request.retries ?? settings.retries),
    session: request.session ?? null,
    trace,
    binds: await toolBinds(settings, runtime, request),
    files: await managerFiles(settings),
  };
}

function chooseTimeoutMs(
  request: DispatchRequest,
  agent: FoundAgent | null,
  { limits: { wall } }: Candidate['grant'],
  usualMs: number,
): number {
  return Math.min(request.timeoutMs ?? agent?.definition.timeout ?? wall ?? usualMs, wall ?? Infinity);
}

async function choosePipeline(
  rooms: CandidateRooms,
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
  { workspaces, settings: { projectRoot } }: CandidateRooms,
): Promise<WorkspaceKind> {
  if (request.workspace !== undefined) return request.workspace;
  if (request.repo !== undefined) return 'worktree';
  return (await workspaces.findTop({ projectRoot })) === null ? 'in-place' : 'worktree';
}
