/** Stage 3: everything an attempt needs exists before its worker does: workspace, limits, secrets, job file. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { shareTurn } from '@caisson/ground';
import { pathRules } from '@caisson/policy';
import { definedOnly, type Job } from '@caisson/protocol';
import { attemptKey, type WorkerLimits } from '../compute/index.ts';
import { titleOf, type PreparedWorkspace } from '../workspace/index.ts';
import {
  type AdmittedRun,
  type DispatchRooms,
  findUnenforcedLimit,
  hasCleanRoom,
  materialiseInputs,
  requireVariables,
} from '../admission/index.ts';
import { materialiseCapabilities, resolveSecrets, recordFirst } from './attempt-materials.ts';
import { composeJob, type JobParts } from './compose-job.ts';
import { recallSystemView } from './recall-system-view.ts';
import {
  findEarlierConversation,
  findStart,
  type EarlierConversation,
  type WorkspaceStart,
} from './continued-work.ts';
import { fetchRemoteBase, type RemoteStart } from './fetch-base.ts';
import { holdFolder } from './hold-folder.ts';
import { copyLogin } from './login-copy.ts';
import { composeUserPrompts } from './notes.ts';
import { planNetwork } from './plan-network.ts';
import { failingAs, PrepareFailure } from './prepare-failure.ts';
import { orWarn } from './clean-up.ts';
import { findOwnControls } from './own-controls.ts';
import { orAborted } from '../platform/index.ts';
import { linkConversation, openConversation, type AgentConversation } from './conversation-folder.ts';
import {
  attemptPaths,
  createAttemptFolders,
  removeAttemptFolders,
  type AttemptPaths,
} from './state-paths.ts';
import type { RunRecord } from '../ledger/index.ts';

export interface PreparedAttempt {
  readonly attempt: number;
  readonly nonce: string;
  readonly paths: AttemptPaths;
  readonly workspace: PreparedWorkspace;
  /** Resolves when the workspace survives a power cut; before that no launch is recorded. */
  readonly synced: Promise<void>;
  readonly limits: WorkerLimits;
  readonly job: Job;
  /** Undoes everything that was prepared; for an attempt in which nothing of the agent has run. */
  discard(): Promise<void>;
}

/** All of it or nothing: a failure undoes what was prepared before it. */
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
  const paths = attemptPaths(rooms.settings.stateDir, run.runId, attempt);
  undo.push(() => removeAttemptFolders(paths));
  await createAttemptFolders(paths);
  const earlier = findEarlierConversation(rooms, run, attempt);
  const conversation = await openOwnConversation(rooms, run, record, { attempt, earlier });
  if (attempt === 1) await recordFirst(run, record);
  await failingAs('fetch-failed', 'open-stream', () => rooms.callbacks.check(run.runId));
  await failingAs('fetch-failed', 'environment', async () => requireVariables(run.request));
  // Beside the workspace: a manager of keys takes its time, and so does git.
  const undoing = new AbortController();
  const fetching = fetchKeys(rooms, run, { paths, signal: AbortSignal.any([signal, undoing.signal]) });
  const isOver = Promise.allSettled([fetching]);
  undo.push(() => (undoing.abort(), isOver)); // before its folders are removed
  const { overlay, inputs } = await failingAs('integrity-failed', 'check-inputs', async () => ({
    overlay: await materialiseCapabilities(rooms, run, paths.overlay),
    inputs: await materialiseInputs(rooms.store, run.inputs, join(paths.overlay, 'inputs')),
  }));
  if (run.workspaceKind === 'in-place') await holdFolder(rooms, run, signal);
  const start = await failingAs('worker-failed', undefined, () =>
    findStart(rooms, run, conversation.resume === undefined ? null : earlier),
  );
  const { runId, request } = run;
  const { stateDir } = rooms.settings;
  const { repo } = request;
  if (repo !== undefined) undo.push(() => rooms.workspaces.unpinBase(stateDir, repo, { runId, attempt }));
  const remote = await fetchRemoteBase(rooms, run, record, { attempt, signal });
  const workspace = await prepareWorkspace(rooms, run, { attempt, signal, start: { ...start, ...remote } });
  const synced = syncBeside(rooms, workspace, undo);
  const { secrets, network, login } = await fetching;
  for (const message of workspace.warnings)
    await record.append('warning', { source: 'workspace', message }, { attempt });
  recordBrought(record, attempt, workspace, paths);
  const limits = openLimits(rooms, run, attempt, undo);
  const hidden = [...secrets.values, ...login.secrets];
  const nonce = randomBytes(32).toString('hex');
  const job = await writeJob(rooms, run, {
    attempt,
    nonce,
    paths,
    workspace,
    gitSettings: await rooms.workspaces.describeGitSettings(workspace),
    limits,
    network,
    secrets: hidden,
    loginBinds: login.binds,
    inputs,
    overlay,
    conversation,
    userPrompts: await composeUserPrompts(rooms, run, { conversation, earlier, start, workspace }),
  });
  return { attempt, nonce, paths, workspace, synced, limits, job };
}

/** While the rest is prepared and the worker starts. */
function syncBeside({ workspaces }: DispatchRooms, workspace: PreparedWorkspace, undo: Undo): Promise<void> {
  undo.push(() => workspaces.remove(workspace, { force: true }));
  const synced = workspaces.sync(workspace);
  const isSynced = Promise.allSettled([synced]);
  undo.push(() => isSynced); // before it is removed
  return synced;
}

/** What the attempt may use of the user's: keys for its environment, for its broker, and a log-in. */
async function fetchKeys(
  rooms: DispatchRooms,
  run: AdmittedRun,
  { paths, signal }: { paths: AttemptPaths; signal: AbortSignal },
) {
  return failingAs('fetch-failed', 'secrets', async () => {
    const [secrets, network] = await Promise.all([
      orAborted(signal, resolveSecrets(rooms, run)),
      orAborted(signal, planNetwork(rooms, run, paths.netSocket)),
    ]);
    return { secrets, network, login: copyLogin(rooms.settings, run, paths) };
  });
}

async function writeJob(rooms: DispatchRooms, run: AdmittedRun, parts: Omit<JobParts, 'view'>): Promise<Job> {
  await shareTurn();
  const view = recallSystemView(rooms, run);
  await shareTurn();
  const job = composeJob(rooms, run, { ...parts, view });
  await shareTurn();
  // Not through a temporary file: it contains secrets, and the clean-up after a dead host knows only this name.
  await writeFile(parts.paths.job, JSON.stringify(job), { mode: 0o600, flag: 'wx' });
  return job;
}

function recordBrought(
  record: RunRecord,
  attempt: number,
  { brought }: PreparedWorkspace,
  { layers }: AttemptPaths,
): void {
  if (brought === undefined) return;
  mkdirSync(layers, { recursive: true, mode: 0o700 });
  record.keep('workspace.brought', { folders: brought.map(({ path }) => path) }, { attempt });
}

/** Without a sandbox the agent's HOME is our folder, with the conversation linked into it. */
async function openOwnConversation(
  { settings }: DispatchRooms,
  run: AdmittedRun,
  record: RunRecord,
  { attempt, earlier }: { attempt: number; earlier: EarlierConversation | null },
): Promise<AgentConversation> {
  const conversation = await openConversation(run, settings.stateDir, earlier);
  if (conversation.problem !== undefined)
    await record.append('warning', { source: 'session', message: conversation.problem }, { attempt });
  if (run.grant.sandbox !== 'none') return conversation;
  const { home } = attemptPaths(settings.stateDir, run.runId, attempt);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  linkConversation(home, conversation.folder);
  return conversation;
}

async function prepareWorkspace(
  { ledger, settings, workspaces }: DispatchRooms,
  { runId, workspaceKind, grant, request, pipeline }: AdmittedRun,
  { attempt, signal, start }: { attempt: number; signal: AbortSignal; start: WorkspaceStart & RemoteStart },
): Promise<PreparedWorkspace> {
  await shareTurn();
  return failingAs('worker-failed', undefined, () =>
    workspaces.prepare({
      kind: workspaceKind,
      projectRoot: settings.projectRoot,
      stateDir: settings.stateDir,
      keepOut: settings.privatePaths(),
      runId,
      attempt,
      include: [...settings.workspaceInclude],
      sandboxed: grant.sandbox !== 'none',
      bring: {
        detect: grant.sandbox !== 'none' && settings.detectsFolders,
        paths: [...settings.bring, ...(request.bring ?? [])],
      },
      rules: pathRules(settings.rules),
      limits: settings.captureLimits,
      cleanRoom: hasCleanRoom(pipeline),
      signal,
      ...start,
      ...definedOnly({
        baseRef: request.repo === undefined ? request.base : undefined,
        branch: request.branch,
        title: titleOf(ledger.run(runId)?.description ?? ''), // without secrets, as it was recorded
      }),
      controls: findOwnControls(settings),
      ...(request.allowRisky === true ? { allowRisky: true } : {}),
    }),
  );
}

function openLimits(rooms: DispatchRooms, run: AdmittedRun, attempt: number, undo: Undo): WorkerLimits {
  const limits = rooms.compute.limit(attemptKey(run.runId, attempt), run.grant.limits);
  undo.push(() => limits.release());
  const detail = findUnenforcedLimit(rooms.settings, run, limits);
  if (detail !== null) throw new PrepareFailure({ reason: 'policy-denied', detail });
  return limits;
}
