/** Stage 3: everything an attempt needs exists before its worker does: workspace, limits, secrets, network, job file. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { CaissonError, type Failure, type FailureReason, type Job } from '@caisson/protocol';
import type { AttemptLimits } from '../compute/index.ts';
import type { PreparedWorkspace } from '../workspace/index.ts';
import type { AdmittedRun, DispatchRooms, OpenedNetwork } from './contract.ts';
import { findNeighbourStates } from './neighbour-states.ts';
import { findContinuedWork, LOST_WORK_NOTE } from './continued-work.ts';
import { linkLoginFiles } from './login-files.ts';
import { openNetwork, planNetwork } from './plan-network.ts';
import { orWarn } from './clean-up.ts';
import { orAborted } from './or-aborted.ts';
import { takenSampling, tellUntakenSampling } from './sampling.ts';
import { linkSession, openAgentSession, type AgentSession } from './session-folder.ts';
import {
  attemptPaths,
  createAttemptFolders,
  removeAttemptFolders,
  type AttemptPaths,
} from './state-paths.ts';
import type { RunRecord } from './run-record.ts';

export interface PreparedAttempt {
  readonly attempt: number;
  readonly nonce: string;
  readonly paths: AttemptPaths;
  readonly workspace: PreparedWorkspace;
  readonly limits: AttemptLimits;
  readonly network: OpenedNetwork | null;
  readonly job: Job;
  /** Takes back everything that was prepared; for an attempt in which nothing of the agent has run. */
  discard(): Promise<void>;
}

/** A stage before the worker failed; carries what the run will be told. */
export class PrepareFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options: { cause?: unknown } = {}) {
    super(failure.detail, options);
    this.name = 'PrepareFailure';
    this.failure = failure;
  }
}

/** All of it or nothing: what was prepared before a failure is taken back. */
export async function prepare(
  rooms: DispatchRooms,
  run: AdmittedRun,
  record: RunRecord,
  attempt: number,
  signal: AbortSignal,
): Promise<PreparedAttempt> {
  const undo: Undo = [];
  const discard = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await orWarn(record, attempt, 'prepare', step);
  };
  try {
    return { ...(await prepareAll(rooms, run, record, attempt, signal, undo)), discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

type Undo = (() => Promise<unknown>)[];

async function prepareAll(
  rooms: DispatchRooms,
  run: AdmittedRun,
  record: RunRecord,
  attempt: number,
  signal: AbortSignal,
  undo: Undo,
): Promise<Omit<PreparedAttempt, 'discard'>> {
  const { settings } = rooms;
  const paths = attemptPaths(settings.stateDir, run.runId, attempt);
  undo.push(() => removeAttemptFolders(paths));
  createAttemptFolders(paths);
  const session = await openAgentSession(run, settings.stateDir);
  if (session.problem !== undefined)
    await record.append('warning', { source: 'session', message: session.problem }, { attempt });
  if (run.grant.sandbox === 'none') {
    mkdirSync(paths.home, { recursive: true, mode: 0o700 });
    linkLoginFiles(settings.home, paths.home, run.runtime);
    linkSession(paths.home, session.folder);
  }
  if (attempt === 1) {
    await tellPrompt(run, record);
    await tellUntakenSampling(run, record);
  }
  await failingAs('fetch-failed', 4, () => rooms.callbacks.check(run.runId));
  const secrets = await failingAs('fetch-failed', 7, () => orAborted(signal, resolveSecrets(rooms, run)));
  const networkPlan = await failingAs('fetch-failed', 7, () => orAborted(signal, planNetwork(rooms, run)));
  const overlay = await failingAs('integrity-failed', 3, () =>
    materialiseCapabilities(rooms, run, paths.overlay),
  );
  if (run.workspaceKind === 'in-place') holdFolder(rooms, run);
  const work = await failingAs('worker-failed', undefined, () => findContinuedWork(rooms, run, session));
  const workspace = await failingAs('worker-failed', undefined, () =>
    rooms.workspaces.prepare({
      kind: run.workspaceKind,
      projectRoot: settings.projectRoot,
      stateDir: settings.stateDir,
      runId: run.runId,
      attempt,
      include: [...settings.workspaceInclude],
      sandboxed: run.grant.sandbox !== 'none',
      limits: settings.captureLimits,
      signal,
      ...(work === null ? {} : { work }),
      ...(run.request.base === undefined ? {} : { baseRef: run.request.base }),
      ...(run.request.branch === undefined ? {} : { branch: run.request.branch }),
    }),
  );
  undo.push(() => rooms.workspaces.remove(workspace, { force: true }));
  for (const message of workspace.warnings)
    await record.append('warning', { source: 'workspace', message }, { attempt });
  const limits = rooms.compute.limit(run.runId, attempt, run.grant.limits);
  undo.push(() => limits.release());
  refuseUnheldLimits(rooms, run, limits);
  const network = await failingAs('worker-failed', undefined, () =>
    openNetwork(rooms, networkPlan, record, { runId: run.runId, attempt, socketPath: paths.netSocket }),
  );
  undo.push(() => network?.close() ?? Promise.resolve());
  const nonce = randomBytes(32).toString('hex');
  const job = composeJob(rooms, run, {
    attempt,
    nonce,
    paths,
    workspace,
    limits,
    network,
    secrets: secrets.values,
    overlay,
    session,
    isWorkLost: work !== null && workspace.startTree === undefined,
  });
  // Not through a temporary file: it holds secrets, and whoever clears up after a dead host knows only this name.
  await writeFile(paths.job, JSON.stringify(job), { mode: 0o600, flag: 'wx' });
  return { attempt, nonce, paths, workspace, limits, network, job };
}

/** The text is in the agent's hands alone; what it was is told by its hash. */
async function tellPrompt(run: AdmittedRun, record: RunRecord): Promise<void> {
  if (run.compiled === null) return;
  await record.append('prompt.compiled', {
    role: run.agent?.name ?? 'default',
    tier: run.tier,
    mode: run.grant.mode,
    ...run.compiled,
  });
}

async function failingAs<T>(
  reason: FailureReason,
  step: number | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PrepareFailure) throw error;
    throw new PrepareFailure(
      { reason, detail: describe(error).slice(0, 8000), ...(step === undefined ? {} : { step }) },
      { cause: error },
    );
  }
}

/** What failed, and what to do about it where whoever threw it knows. */
function describe(error: unknown): string {
  if (!(error instanceof CaissonError) || error.remedy === undefined) return (error as Error).message;
  return error.message.includes(error.remedy) ? error.message : `${error.message} ${error.remedy}`;
}

/** Where the run works on the user's own files, nobody else may. */
function holdFolder(rooms: DispatchRooms, run: AdmittedRun): void {
  const name = folderLease(rooms.settings.projectRoot);
  if (rooms.ledger.leases.tryHold(name, run.runId, rooms.hostId)) return;
  const holder = rooms.ledger.leases.holderOf(name)?.holder ?? 'another run';
  throw new PrepareFailure({
    reason: 'worker-failed',
    detail: `the folder is in use by ${holder}, which works in place. Wait for it, or use --workspace empty, or a git repository.`,
  });
}

export function folderLease(projectRoot: string): string {
  return `in-place:${projectRoot}`;
}

/** Invariant 5: a limit that a person set and that cannot be held is refused; a default is recorded as unenforced. */
function refuseUnheldLimits(rooms: DispatchRooms, run: AdmittedRun, limits: AttemptLimits): void {
  const asked = Object.keys({ ...run.agent?.definition.grant?.limits, ...run.request.limits });
  const chosen = new Set<string>([...rooms.settings.chosenLimits, ...asked]);
  const unheld = (['memory', 'cpus', 'pids'] as const).filter(
    (key) => chosen.has(key) && run.grant.limits[key] !== undefined && !limits.enforced[key],
  );
  if (unheld.length === 0) return;
  throw new PrepareFailure({
    reason: 'policy-denied',
    detail: `the limit ${unheld.join(', ')} was set and cannot be enforced here: ${limits.why ?? 'no cgroup'}. Take it out, or see caisson doctor.`,
  });
}

interface ResolvedSecrets {
  readonly values: Job['secrets'];
}

async function resolveSecrets(rooms: DispatchRooms, run: AdmittedRun): Promise<ResolvedSecrets> {
  const wanted = [
    ...run.envBundles.flatMap((bundle) => Object.entries(bundle.secrets)),
    ...Object.entries(run.request.secrets ?? {}),
  ];
  const values = await Promise.all(
    wanted.map(async ([name, ref]) => ({ name, env: name, value: await rooms.secrets.resolve(ref) })),
  );
  return { values };
}

/** The worker copies out of these folders and never writes to them. */
async function materialiseCapabilities(
  rooms: DispatchRooms,
  run: AdmittedRun,
  root: string,
): Promise<Job['overlay']> {
  const overlay: Job['overlay'] = [];
  for (const [index, capability] of run.capabilities.entries()) {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const path = join(root, String(index));
    await rooms.store.materialise(capability.hash, path, { readOnly: true });
    overlay.push({ path, sha256: capability.hash, name: capability.name });
  }
  return overlay;
}

function composeJob(
  rooms: DispatchRooms,
  run: AdmittedRun,
  parts: {
    attempt: number;
    nonce: string;
    paths: AttemptPaths;
    workspace: PreparedWorkspace;
    limits: AttemptLimits;
    network: OpenedNetwork | null;
    secrets: Job['secrets'];
    overlay: Job['overlay'];
    session: AgentSession;
    isWorkLost: boolean;
  },
): Job {
  const { settings, clock } = rooms;
  const { request, runtime } = run;
  const { paths, workspace, network } = parts;
  const isOpen = run.grant.sandbox === 'none';
  return {
    schemaVersion: 1,
    runId: run.runId,
    attempt: parts.attempt,
    nonce: parts.nonce,
    task: {
      id: run.taskId,
      description: run.description,
      scope: [...(request.scope ?? [])],
      ...(request.acceptance === undefined ? {} : { acceptance: request.acceptance }),
      ...(request.branch === undefined ? {} : { branch: request.branch }),
      priority: run.priority,
      dependsOn: [],
      status: 'running',
      createdAt: run.createdAt,
    },
    runtime: {
      name: runtime.name,
      bin: runtime.bin,
      ...(runtime.adapter === null ? {} : { adapter: runtime.adapter }),
      settings:
        runtime.name === 'command'
          ? { ...runtime.settings, argv: [...(request.argv ?? [])] }
          : { ...runtime.settings, ...takenSampling(run) },
    },
    ...(run.agent === null ? {} : { agent: run.agent.name }),
    ...(run.model === '' ? {} : { model: run.model }),
    prompts: {
      ...(run.systemPrompt === '' ? {} : { system: run.systemPrompt }),
      user: parts.isWorkLost ? `${LOST_WORK_NOTE}\n\n${run.userPrompt}` : run.userPrompt,
    },
    grant: run.grant,
    rules: [...settings.rules],
    pipeline: run.pipeline,
    workspace: {
      path: workspace.path,
      mountPath: workspace.mountPath,
      cwd: workspace.cwd,
      ...startFolder(run, workspace),
      kind: workspace.kind,
      gitDir: workspace.gitDir,
      baselineTree: workspace.baselineTree,
      exclude: [...workspace.exclude],
      ...(workspace.limits === undefined ? {} : { limits: workspace.limits }),
      ...(workspace.agentGit === undefined ? {} : { agentGit: workspace.agentGit }),
    },
    inputs: [...run.inputs],
    overlay: parts.overlay,
    setup: settings.setup === null ? [] : [settings.setup],
    env: {
      base: { ...settings.hostEnv, PATH: settings.path },
      bundles: run.envBundles.map(({ name, values }) => ({ name, values })),
      run: { ...runtime.env, ...request.env },
    },
    secrets: parts.secrets,
    broker:
      network === null
        ? null
        : {
            socket: network.socket,
            model: network.model,
            services: [...network.services],
            offersProxy: network.offersProxy,
            ...(network.loopbackPort === null ? {} : { loopbackPort: network.loopbackPort }),
          },
    credential: runtime.login ? 'inside' : network?.model ? 'broker' : 'none',
    sandbox: {
      hide: [settings.stateDir, ...(isOpen ? [] : findNeighbourStates(settings.projectRoot, settings.home))],
      binds: [...run.binds],
      home: isOpen ? paths.home : settings.home,
      homeBytes: settings.homeBytes,
      tmpBytes: settings.tmpBytes,
      node: settings.node,
      programs: { relay: [...settings.programs.relay], toolShim: [...settings.programs.toolShim] },
    },
    paths: {
      result: paths.result,
      events: paths.events,
      spool: paths.spool,
      captures: paths.captures,
      // Without a sandbox nothing is mounted: the mailbox is where the agent looks for it.
      mailbox: isOpen && workspace.kind !== 'in-place' ? join(workspace.path, '.caisson') : paths.mailbox,
      session: parts.session.folder,
      ...sessionFiles(rooms, run),
      cgroup: [...parts.limits.procsFiles],
    },
    deadlineAt: new Date(clock.wallMs() + run.timeoutMs).toISOString(),
    wallMs: run.timeoutMs,
    graceMs: settings.graceMs,
    setupTimeoutMs: settings.setupTimeoutMs,
    heartbeatMs: settings.heartbeatMs,
    spoolBytes: settings.spoolBytes,
    onHostLoss: 'stop',
    ...(request.answer === undefined ? {} : { answer: describeAnswer(request.answer) }),
    ...(parts.session.resume === undefined ? {} : { resume: parts.session.resume }),
    trace: run.trace,
  };
}

/** Board and context are there for a session, and for a run that may use them on its own. */
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

/** A command with relative paths means the folder it was typed in, as long as that folder is in the workspace. */
function startFolder(run: AdmittedRun, workspace: PreparedWorkspace): { startIn?: string } {
  const { folder } = run.request;
  if (folder === undefined || run.runtime.name !== 'command' || workspace.kind === 'empty') return {};
  const startIn = resolve(workspace.cwd, folder);
  const isInside = startIn.startsWith(`${workspace.mountPath}/`);
  const onHost = join(workspace.path, relative(workspace.mountPath, startIn));
  return isInside && existsSync(onHost) ? { startIn } : {};
}

function describeAnswer(answer: NonNullable<AdmittedRun['request']['answer']>): NonNullable<Job['answer']> {
  return {
    question: answer.question,
    ...(answer.options === undefined ? {} : { options: answer.options }),
    ...(answer.context === undefined ? {} : { context: answer.context }),
    ...(answer.partial_state === undefined ? {} : { partialState: answer.partial_state }),
    answer: answer.answer,
  };
}
