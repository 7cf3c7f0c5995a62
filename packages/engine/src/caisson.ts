/** The library: Caisson for programs and for the CLI. */
import { BusTopic, toEnvelope, type DispatchResult, type EventEnvelope } from '@caisson/protocol';
import type { BudgetStanding } from './budget/index.ts';
import type { SafeEventBus } from './bus/index.ts';
import { requireTrust, withTrust } from './composition/trusted-config.ts';
import {
  createLiveConfig,
  getCurrentFolder,
  type ConfigChange,
  type LiveConfig,
  type LoadConfigOptions,
  type ResolvedConfig,
} from './config/index.ts';
import type { DiscoveredRuntime } from './discovery/index.ts';
import type { DispatchRequest, RunHandle } from './admission/index.ts';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';
import type { Exported, Verification, VerifyOptions } from './evidence/index.ts';
import type { QuestionRow, RunFilter, SpendRow } from './ledger/index.ts';
import { answerQuestion, expireQuestions } from './operations/answer-question.ts';
import { cancelRun, type CancelOutcome } from './operations/cancel-run.ts';
import { collectGarbage, type GarbageOptions, type GarbageReport } from './operations/collect-garbage.ts';
import { decideApproval } from './operations/decide-approval.ts';
import { discoverHere } from './operations/discover-here.ts';
import { dispatchOnce } from './operations/dispatch-once.ts';
import { followRunLog } from './operations/follow-run-log.ts';
import { followRun } from './operations/follow-run.ts';
import { forgetRun } from './operations/forget-run.ts';
import { readRunLog, type LogName } from './operations/read-run-log.ts';
import { createRegistryFace, type RegistryFace } from './operations/registry-face.ts';
import { resolveRunId } from './operations/resolve-run-id.ts';
import { retryRun } from './operations/retry-run.ts';
import { listRuns, type ListedRun } from './operations/list-runs.ts';
import { applyRun, readPatch, type ApplyChoice, type ApplyResult } from './operations/run-patch.ts';
import { keepSealing, makeUpSeals, sealEnded } from './operations/seal-ended.ts';
import { showRun } from './operations/show-run.ts';
import { sendMessage } from './operations/send-message.ts';
import { runBackground, startBackground } from './operations/start-background.ts';
import { createSweeper } from './operations/sweep.ts';
import { exportHere, verifyHere } from './operations/verify-here.ts';
import { listApprovals, type ApprovalDecision, type ApprovalRow } from './questions/index.ts';
import type { Sessions } from './session/index.ts';

export interface CaissonOptions extends EngineOptions {
  /** Folder of the project, or anywhere inside it. Default: the current folder. */
  readonly cwd?: string;
  /** State folder instead of `.caisson` in the project. */
  readonly stateDir?: string;
  readonly flags?: LoadConfigOptions['flags'];
  /**
   * For callers that only read: called, instead of a throw, when what a dead host left cannot be settled now (a full
   * disk, for example). Such runs are then shown as they were.
   */
  readonly onUnsettled?: (error: Error) => void;
  /**
   * Called with what was undone of an interrupted apply (without it that waits for the next `apply` or `gc`) and,
   * without `onUnsettled`, with each run of a dead host that is left to the next process.
   */
  readonly onNotice?: (message: string) => void;
}

/**
 * One project's runs. A run is named by a unique beginning or ending of its id, or `latest`. Close it when done;
 * closing cancels what this process still runs.
 */
export interface Caisson {
  /** As it was when the project was opened. */
  readonly config: ResolvedConfig;
  /**
   * Reads every source of the configuration again and reports, here and on the bus, each setting that has changed since
   * the last reading. What is open keeps its values: open the project again to use the new ones. A file that has become
   * invalid throws ConfigError.
   */
  checkConfig(): Promise<readonly ConfigChange[]>;
  /** The agent programs on this machine, also published on the bus. Each is started once, for its version. */
  runtimes(options?: { signal?: AbortSignal }): Promise<readonly DiscoveredRuntime[]>;
  /** Live fan-out of the events of this process. */
  readonly bus: SafeEventBus;
  /** Agents, capabilities, env bundles and pipelines by name. */
  readonly registry: RegistryFace;
  /** Accepts a task and brings it to its one ending. Throws TaskRefusedError when admission refuses it. */
  dispatch(request: DispatchRequest): Promise<RunHandle>;
  /** Starts a background host for the task and resolves with the run's id; `entry` is the CLI to start it with. */
  dispatchDetached(request: DispatchRequest, entry: readonly string[]): Promise<string>;
  /** The work of a background host. */
  serveDetached(runId: string): Promise<void>;
  /**
   * Stops every run of this process: SIGTERM, the grace, then SIGKILL; with `force` at once. The work so far is kept,
   * and the runs end as `interrupted`. Resolves when all have ended; nothing can be dispatched after it.
   */
  shutdown(options?: { force?: boolean }): Promise<void>;
  runs(filter?: RunFilter): Promise<readonly ListedRun[]>;
  /** The whole id of the named run. */
  find(run: string): string;
  /** The run as its ledger records it. */
  show(run: string): Promise<DispatchResult>;
  /** Recorded events after a sequence number. */
  events(run: string, options?: { after?: number }): Promise<readonly EventEnvelope[]>;
  /** Recorded events, then the coming ones, until the run has ended. */
  follow(run: string, options?: { after?: number; signal?: AbortSignal }): AsyncIterable<EventEnvelope>;
  /** What the agent printed, redacted. */
  log(run: string, name: LogName): Promise<Buffer>;
  /** What the agent printed and prints, until the run has ended. */
  followLog(run: string, name: LogName, options?: { signal?: AbortSignal }): AsyncIterable<Buffer>;
  patch(run: string): Promise<Buffer>;
  /**
   * Applies the patch to the project's files: all of it or nothing, unless conflicts are requested. If a change is
   * risky the outcome says so, and nothing happens before `allowRisky`.
   */
  apply(run: string, options?: ApplyChoice): Promise<ApplyResult>;
  cancel(run: string, options?: { force?: boolean }): Promise<CancelOutcome>;
  retry(run: string, changes?: Partial<DispatchRequest>): Promise<RunHandle>;
  send(run: string, body: string): Promise<string>;
  questions(filter?: { status?: QuestionRow['status'] }): Promise<readonly QuestionRow[]>;
  /** Answers a question by its id or its run; resolves with the run that continues. */
  answer(question: string, answer: string): Promise<RunHandle>;
  /** Tool calls that wait for a decision; with `all`, decided ones too. */
  approvals(filter?: { all?: boolean }): Promise<readonly ApprovalRow[]>;
  /** Decides a waiting call by its id, a unique ending of it, its run, or `latest`. Exactly one decision counts. */
  decide(approval: string, decision: ApprovalDecision): Promise<ApprovalRow>;
  /** What the runs of sessions share: boards and context registries. */
  readonly sessions: Sessions;
  /** The spending of the day, and of the session if one is named, against their caps. */
  budget(session?: string): Promise<readonly BudgetStanding[]>;
  spend(filter?: { session?: string; day?: string }): Promise<readonly SpendRow[]>;
  /** Writes one file that another person can check. */
  export(run: string, to: string): Promise<Exported>;
  /** `witness`: lines that must name the seal, instead of the configured witness, which may not have it. */
  verify(run: string, options?: Partial<VerifyOptions>): Promise<Verification>;
  /** Seals a run that ended without a signature; without a name, all of them. Returns those that were sealed now. */
  seal(run?: string): Promise<readonly string[]>;
  forget(run: string): Promise<string>;
  gc(options?: GarbageOptions): Promise<GarbageReport>;
  close(): Promise<void>;
}

/** Opens the project at `cwd`. Settles what a dead host has left before it answers anything. */
export async function createCaisson(options: CaissonOptions = {}): Promise<Caisson> {
  const cwd = options.cwd ?? getCurrentFolder();
  const live = await createLiveConfig(
    withTrust({ cwd, flags: { ...options.flags, state: options.stateDir } }),
    (change) => engine.bus.emit(BusTopic.CONFIG_CHANGED, { ...change }),
  );
  const engine = createEngine(live.current, cwd, options);
  try {
    const { left } = await engine.recover();
    // A run that cannot be settled now blocks no work.
    for (const error of left) {
      if (options.onUnsettled !== undefined) options.onUnsettled(error);
      else options.onNotice?.(error.message);
    }
    for (const message of (await makeUpSeals(engine)).failures) options.onNotice?.(message);
    if (options.onNotice !== undefined) {
      for (const message of await engine.workspaces.recoverApplies(engine.config)) options.onNotice(message);
    }
  } catch (error) {
    if (options.onUnsettled === undefined) {
      await engine.close();
      throw error;
    }
    options.onUnsettled(error as Error);
  }
  return createFace(engine, cwd, live);
}

function createFace(engine: Engine, cwd: string, live: LiveConfig): Caisson {
  const { ledger } = engine;
  const find = (given: string): string => resolveRunId(ledger, given);
  const sweeper = createSweeper(engine);
  let stopSealing: (() => Promise<void>) | null = null;
  const openForWork = async (): Promise<void> => {
    await requireTrust(engine.config);
    await engine.openPost();
    stopSealing ??= keepSealing(engine);
  };
  return {
    config: engine.config,
    checkConfig: () => live.reload(),
    runtimes: (how = {}) => discoverHere(engine, how.signal),
    bus: engine.bus,
    registry: createRegistryFace(engine, cwd),
    async dispatch(request) {
      await openForWork();
      const handle = await dispatchOnce(engine, request);
      sweeper.dispatched();
      return handle;
    },
    async dispatchDetached(request, entry) {
      await requireTrust(engine.config);
      return startBackground(engine, request, entry);
    },
    async serveDetached(runId) {
      await openForWork();
      sweeper.dispatched();
      return runBackground(engine, runId);
    },
    shutdown: (how) => engine.dispatcher.shutdown(how),
    runs: (filter) => Promise.resolve(listRuns(engine, filter)),
    find,
    show: async (run) => showRun(engine, find(run)),
    events: (run, { after } = {}) =>
      Promise.resolve(
        ledger.read({ runId: find(run), ...(after === undefined ? {} : { after }) }).map(toEnvelope),
      ),
    follow: (run, how) => followRun(engine, find(run), how),
    log: async (run, name) => readRunLog(engine, find(run), name),
    followLog: (run, name, how) => followRunLog(engine, find(run), name, how),
    patch: async (run) => readPatch(engine, find(run)),
    apply: async (run, how) => applyRun(engine, find(run), how),
    cancel: async (run, how) => cancelRun(engine, find(run), how),
    async retry(run, changes) {
      await openForWork();
      sweeper.dispatched();
      return retryRun(engine, find(run), changes);
    },
    send: async (run, body) => sendMessage(engine, find(run), body),
    async questions(filter) {
      await expireQuestions(engine);
      return ledger.questions(filter);
    },
    async answer(question, answer) {
      await openForWork();
      sweeper.dispatched();
      return answerQuestion(engine, question, answer);
    },
    approvals: (filter = {}) => Promise.resolve(listApprovals(ledger, { openOnly: filter.all !== true })),
    decide: (approval, decision) => decideApproval(engine, approval, decision),
    sessions: engine.sessions,
    budget: (session) => Promise.resolve(engine.budget.standings(session)),
    spend: (filter) => Promise.resolve(ledger.spend(filter)),
    export: (run, to) => exportHere(engine, find(run), to),
    verify: (run, how = {}) => verifyHere(engine, run, how),
    async seal(run) {
      await requireTrust(engine.config, ['keys', 'evidence']);
      return sealEnded(engine, run === undefined ? undefined : find(run));
    },
    async forget(run) {
      await requireTrust(engine.config, ['store']);
      const runId = find(run);
      await forgetRun(engine, runId);
      return runId;
    },
    async gc(how) {
      await requireTrust(engine.config, ['store']);
      return collectGarbage(engine, how);
    },
    async close() {
      await sweeper.stop();
      await stopSealing?.();
      await engine.close();
    },
  };
}
