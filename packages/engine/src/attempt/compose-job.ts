/** The job: the worker's whole input, composed from what was admitted and what was prepared. */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { definedOnly, type Bind, type Job, type NetworkPlan } from '@caisson/protocol';
import type { WorkerLimits } from '../compute/index.ts';
import { SYSTEM_GIT_CONFIG, type PreparedWorkspace } from '../workspace/index.ts';
import {
  managerEnv,
  type AdmittedRun,
  type DispatchRooms,
  type DispatchSettings,
} from '../admission/index.ts';
import { recallNeighbourStates } from './neighbour-states.ts';
import { rulesAboutControls } from './own-controls.ts';
import { supportedSampling } from './sampling.ts';
import type { AgentConversation } from './conversation-folder.ts';
import type { AttemptPaths } from './state-paths.ts';

export interface JobParts {
  readonly attempt: number;
  readonly nonce: string;
  readonly paths: AttemptPaths;
  readonly workspace: PreparedWorkspace;
  /** The system's settings of git inside; '' for none. They are in no event. */
  readonly gitSettings: string;
  readonly limits: WorkerLimits;
  readonly network: NetworkPlan | null;
  readonly secrets: Job['secrets'];
  readonly loginBinds: readonly Bind[];
  readonly inputs: Job['inputs'];
  readonly overlay: Job['overlay'];
  readonly view: Job['sandbox']['view'];
  readonly conversation: AgentConversation;
  readonly userPrompts: Pick<Job['prompts'], 'user' | 'fresh'>;
}

export function composeJob(rooms: DispatchRooms, run: AdmittedRun, parts: JobParts): Job {
  const { settings } = rooms;
  const isOpen = run.grant.sandbox === 'none';
  return {
    schemaVersion: 2,
    runId: run.runId,
    attempt: parts.attempt,
    nonce: parts.nonce,
    ...composeTask(run, parts),
    grant: run.grant,
    rules: [...settings.rules, ...rulesAboutControls(settings, parts.workspace)],
    pipeline: run.pipeline,
    workspace: composeWorkspace(run, parts.workspace),
    inputs: parts.inputs,
    overlay: parts.overlay,
    setup: settings.setup === null ? [] : [settings.setup],
    env: {
      base: { ...settings.hostEnv, ...(isOpen ? {} : managerEnv(settings)), PATH: settings.path },
      bundles: run.envBundles.map(({ name, values }) => ({ name, values })),
      run: { ...run.runtime.env, ...run.request.env },
    },
    secrets: parts.secrets,
    network: parts.network,
    credential: run.runtime.login ? 'inside' : parts.network?.model ? 'broker' : 'none',
    sandbox: composeSandbox(rooms, run, parts),
    paths: composePaths(rooms, run, parts),
    ...composeTimes(rooms, run),
    spoolBytes: settings.spoolBytes,
    ...composeHostLoss(rooms, parts),
    ...composeAttached(run, parts.attempt),
    trace: run.trace,
  };
}

/** Only a daemon adopts, and only a daemon's workers wait to be adopted. */
function composeHostLoss(
  { isDaemon, settings: { adoptWithinMs, userState } }: DispatchRooms,
  { paths, workspace }: JobParts,
): Pick<Job, 'onHostLoss' | 'adoption'> {
  if (!isDaemon || adoptWithinMs === 0) return { onHostLoss: 'stop' };
  const folder = workspace.kind === 'in-place' ? { folder: { path: workspace.path, userState } } : {};
  return {
    onHostLoss: 'wait',
    adoption: { socket: paths.control, withinMs: adoptWithinMs, ...folder },
  };
}

function composeAttached({ attachment, runtime }: AdmittedRun, attempt: number): Pick<Job, 'attached'> {
  if (attachment === undefined || runtime.name !== 'command') return {};
  const { write, input, isMerged = false } = attachment;
  const output = write !== undefined;
  return { attached: { output, input: input !== undefined && attempt === 1, isMerged: output && isMerged } };
}

/** The task, its agent, its prompts, and what it continues. */
function composeTask(
  run: AdmittedRun,
  parts: JobParts,
): Pick<Job, 'task' | 'runtime' | 'agent' | 'model' | 'prompts' | 'answer' | 'resume'> {
  const { request, runtime } = run;
  const { acceptance, branch, answer } = request;
  return definedOnly({
    task: {
      id: run.taskId,
      description: run.description,
      scope: [...(request.scope ?? [])],
      ...definedOnly({ acceptance, branch }),
      priority: run.priority,
      dependsOn: [],
      status: 'running' as const,
      createdAt: run.createdAt,
    },
    runtime: {
      name: runtime.name,
      bin: runtime.bin,
      ...definedOnly({ adapter: runtime.adapter ?? undefined }),
      settings:
        runtime.name === 'command'
          ? { ...runtime.settings, argv: [...(request.argv ?? [])] }
          : { ...runtime.settings, ...supportedSampling(run) },
      ...(runtime.projectServers ? { projectServers: true } : {}),
    },
    agent: run.agent?.name,
    model: run.model || undefined,
    prompts: {
      ...(run.systemPrompt === '' ? {} : { system: run.systemPrompt }),
      ...parts.userPrompts,
    },
    answer: answer && describeAnswer(answer),
    resume: parts.conversation.resume,
  });
}

function composeWorkspace(run: AdmittedRun, workspace: PreparedWorkspace): Job['workspace'] {
  const { limits, agentGit, cleanRoom } = workspace;
  return {
    path: workspace.path,
    mountPath: workspace.mountPath,
    cwd: workspace.cwd,
    ...startFolder(run, workspace),
    kind: workspace.kind,
    gitDir: workspace.gitDir,
    baselineTree: workspace.baselineTree,
    exclude: [...workspace.exclude],
    ...definedOnly({ limits, agentGit, cleanRoom }),
    controls: [...(workspace.controls ?? [])],
    ...(workspace.brought === undefined
      ? {}
      : { brought: workspace.brought.map(({ source, target }) => ({ source, target })) }),
    ...(workspace.allowRisky === true ? { allowRisky: true } : {}),
    ...(run.request.outsideScope === 'read-only' ? { onlyScope: true } : {}),
  };
}

function composeSandbox({ settings }: DispatchRooms, run: AdmittedRun, parts: JobParts): Job['sandbox'] {
  const { paths, workspace, view } = parts;
  const isOpen = run.grant.sandbox === 'none';
  return {
    ...definedOnly({ view }),
    hide: isOpen ? [settings.stateDir] : listHidden(settings, workspace.kind === 'in-place'),
    binds: [...run.binds],
    agentBinds: [...parts.loginBinds],
    files: isOpen ? [] : composeFiles(run, parts),
    home: isOpen ? paths.home : settings.home,
    homeBytes: settings.homeBytes,
    tmpBytes: settings.tmpBytes,
    node: settings.node,
    programs: { relay: [...settings.programs.relay], toolShim: [...settings.programs.toolShim] },
  };
}

/** What no sandbox shows; `isInPlace`: the project's own folder is visible in it. */
export function listHidden(settings: DispatchSettings, isInPlace: boolean): string[] {
  const { stateDir, projectRoot, home } = settings;
  return [stateDir, ...settings.privatePaths(isInPlace), ...recallNeighbourStates(projectRoot, home)];
}

/** What the user shows by a bind, or has in the workspace, is there already. */
function composeFiles({ files, binds }: AdmittedRun, { gitSettings, workspace }: JobParts) {
  const shown = [workspace.mountPath, ...binds.map(({ target }) => target)];
  const isFree = (path: string): boolean =>
    !shown.some((place) => path === place || path.startsWith(`${place}/`));
  return [
    ...files,
    ...(gitSettings === '' ? [] : [{ path: SYSTEM_GIT_CONFIG, content: gitSettings }]),
  ].filter(({ path }) => isFree(path));
}

function composePaths(
  rooms: DispatchRooms,
  run: AdmittedRun,
  { paths, workspace, conversation, limits }: JobParts,
): Job['paths'] {
  const isOpen = run.grant.sandbox === 'none';
  return {
    result: paths.result,
    events: paths.events,
    spool: paths.spool,
    captures: paths.captures,
    // Without a sandbox nothing is mounted: the mailbox is where the agent looks for it.
    mailbox: isOpen && workspace.kind !== 'in-place' ? join(workspace.path, '.caisson') : paths.mailbox,
    session: conversation.folder,
    ...(workspace.brought === undefined ? {} : { layers: paths.layers }),
    ...sessionFiles(rooms, run),
    cgroup: [...limits.procsFiles],
  };
}

function composeTimes(
  { settings, clock }: DispatchRooms,
  { timeoutMs }: AdmittedRun,
): Pick<Job, 'deadlineAt' | 'wallMs' | 'graceMs' | 'setupTimeoutMs' | 'heartbeatMs'> {
  return {
    deadlineAt: new Date(clock.wallMs() + timeoutMs).toISOString(),
    wallMs: timeoutMs,
    graceMs: settings.graceMs,
    setupTimeoutMs: settings.setupTimeoutMs,
    heartbeatMs: settings.heartbeatMs,
  };
}

/** Board and context exist for a session, and for a run that may use them alone. */
function sessionFiles(
  rooms: DispatchRooms,
  run: AdmittedRun,
): { board: string | null; context: string | null } {
  const { tools } = run.grant;
  const isShared = run.session !== null;
  const uses = (...names: string[]): boolean =>
    isShared || tools.includes('*') || names.some((name) => tools.includes(name));
  const usesBoard = uses('board_read', 'board_write');
  const usesContext = uses('report_context', 'read_context');
  if (!usesBoard && !usesContext) return { board: null, context: null };
  const paths = rooms.sessions.paths(run.session ?? run.runId);
  return { board: usesBoard ? paths.board : null, context: usesContext ? paths.context : null };
}

/** A command with relative paths is relative to the folder it was typed in, if that folder is in the workspace. */
function startFolder(run: AdmittedRun, workspace: PreparedWorkspace): { startIn?: string } {
  const { folder } = run.request;
  if (folder === undefined || run.runtime.name !== 'command' || workspace.kind === 'empty') return {};
  const startIn = resolve(workspace.cwd, folder);
  const isInside = startIn.startsWith(`${workspace.mountPath}/`);
  const onHost = join(workspace.path, relative(workspace.mountPath, startIn));
  return isInside && existsSync(onHost) ? { startIn } : {};
}

function describeAnswer(asked: NonNullable<AdmittedRun['request']['answer']>): NonNullable<Job['answer']> {
  const { question, options, context, partial_state: partialState, answer } = asked;
  return { question, ...definedOnly({ options, context, partialState }), answer };
}
