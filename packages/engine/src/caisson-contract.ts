import type { DispatchResult, EventEnvelope, NewToken, RunPush, Scope, TokenView } from '@caisson/protocol';
import type { BudgetStanding } from './budget/index.ts';
import type { SafeEventBus } from './bus/index.ts';
import type { ConfigChange, LoadConfigOptions, ResolvedConfig } from './config/index.ts';
import type { DiscoveredRuntime } from './discovery/index.ts';
import type {
  Attachment,
  AttachOptions,
  DispatchRequest,
  GivenWithAnswer,
  ReadOptions,
  RunHandle,
} from './admission/index.ts';
import type { EngineOptions } from './engine.ts';
import type { Exported, Verification, VerifyOptions } from './evidence/index.ts';
import type { Page, QuestionFilter, QuestionRow, RunFilter, SpendFilter, SpendRow } from './ledger/index.ts';
import type { ListedBranch } from './operations/branches.ts';
import type { CancelOutcome } from './operations/cancel-run.ts';
import type { GarbageOptions, GarbageReport } from './operations/garbage-report.ts';
import type { ProjectUsage } from './operations/measure-usage.ts';
import type { LogName } from './operations/read-run-log.ts';
import type { WholeApproval } from './operations/read-approval.ts';
import type { RegistryApi } from './operations/registry-api.ts';
import type { ResidentsApi } from './operations/residents-contract.ts';
import type { ListedRun } from './operations/list-runs.ts';
import type { ApplyChoice, ApplyResult } from './operations/run-patch.ts';
import type { ApprovalDecision, ApprovalRow } from './questions/index.ts';
import type { Sessions } from './session/index.ts';

export type { ResidentsApi, ThreadFilter } from './operations/residents-contract.ts';

export interface CaissonOptions extends EngineOptions {
  /** Folder of the project, or anywhere inside it. Default: the current folder. */
  readonly cwd?: string;
  /** State folder instead of `.caisson` in the project. */
  readonly stateDir?: string;
  readonly flags?: LoadConfigOptions['flags'];
  /** The program for which this one decides, as it is recorded beside the account. */
  readonly client?: string;
  /** False: in this process, also if the project has a daemon. So does `CAISSON_NO_DAEMON=1`. */
  readonly daemon?: boolean;
  /**
   * Called before the project is opened in this process, and not if a daemon has it: what it throws leaves no state folder
   * behind.
   */
  readonly rehearse?: (config: ResolvedConfig) => Promise<void>;
  /**
   * For callers that only read: called, instead of a throw, when what a dead host left cannot be settled now (a full
   * disk, for example). Such runs are then shown as they were.
   */
  readonly onUnsettled?: (error: Error) => void;
  /**
   * For callers that start no work: called with each problem of a configuration that is not valid, such as a key that this
   * version does not know. What has the problem counts as absent here, nothing is settled when the project is opened, and
   * whatever would start or remove something is still refused. Without it (and without `onUnsettled`), that is an error.
   */
  readonly onUnread?: (problem: string) => void;
  /**
   * Called with what was undone of an interrupted apply (without it that waits for the next `apply` or `gc`) and,
   * without `onUnsettled`, with each run of a dead host that is left to the next process.
   */
  readonly onNotice?: (message: string) => void;
}

export interface FollowOptions extends Omit<ReadOptions, 'after'> {
  /** Read what follows this `offset`; 0 for everything that is recorded. Default: from now on. */
  readonly after?: number;
  /** Ends after what is recorded now; `after` is then 0 by default. What is only published is left out. */
  readonly onlyRecorded?: boolean;
  /** Only events of these runs. Default: of all, and of the project itself. */
  readonly runs?: readonly string[];
}

/** A token is shown once, when it is made. */
export interface TokensApi {
  create(order: {
    readonly name: string;
    readonly scopes: readonly Scope[];
    /** Null: until it is revoked. */
    readonly expiresInMs: number | null;
  }): Promise<NewToken>;
  list(): Promise<readonly TokenView[]>;
  /** By its id. False when there is none. */
  revoke(id: string): Promise<boolean>;
}

/**
 * One project's runs. A run is named by a unique beginning or ending of its id, or `latest`. Close it when done;
 * closing cancels what this process still runs.
 */
export interface Caisson {
  /** Tokens with which programs reach a daemon over TCP. */
  readonly tokens: TokensApi;
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
  readonly registry: RegistryApi;
  /** Accepts a task and brings it to its one ending. Throws TaskRefusedError when admission refuses it. */
  dispatch(request: DispatchRequest, attachment?: Attachment): Promise<RunHandle>;
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
  find(run: string): Promise<string>;
  /** A handle on a run, whichever process drives it. */
  attach(run: string, options?: AttachOptions): Promise<RunHandle>;
  /** The run as its ledger records it. */
  show(run: string): Promise<DispatchResult>;
  /** Recorded events after a sequence number; with `limit` at most so many. */
  events(run: string, options?: { after?: number; limit?: number }): Promise<readonly EventEnvelope[]>;
  /** The `offset` of the newest recorded event: `follow({ after })` goes on behind it. */
  lastOffset(): Promise<number>;
  /**
   * Recorded events, then the coming ones, until the run has ended, whichever process drives it. What is only told
   * (`seq` 0: progress, heartbeats) comes between them, from the moment the reader has begun; a reader that is too slow
   * gets a `gap` with the number of those it missed. Recorded ones are never missed.
   */
  follow(run: string, options?: ReadOptions): AsyncIterable<EventEnvelope>;
  /**
   * The same of the whole project, of all runs and all processes: from now on, or after an offset, until it is aborted or
   * the project is closed. Any number of readers may read, each at its own pace.
   */
  follow(options?: FollowOptions): AsyncIterable<EventEnvelope>;
  /** What the agent printed, redacted. */
  log(run: string, name: LogName): Promise<Buffer>;
  /** What the agent printed and prints, until the run has ended. */
  followLog(run: string, name: LogName, options?: { signal?: AbortSignal }): AsyncIterable<Buffer>;
  patch(run: string): Promise<Buffer>;
  /**
   * Copies what the run left in `outputs/` into a folder: all of it or nothing, and no file is replaced. Resolves with
   * the paths, relative to the folder.
   */
  saveOutputs(run: string, to: string): Promise<readonly string[]>;
  /**
   * Applies the patch to the project's files: all of it or nothing, unless conflicts are requested. If a change is
   * risky the outcome says so, and nothing happens before `allowRisky`.
   */
  apply(run: string, options?: ApplyChoice): Promise<ApplyResult>;
  /** `interrupt`: a person's Ctrl-C, which the agent gets as SIGINT first. */
  cancel(run: string, options?: { force?: boolean; interrupt?: boolean }): Promise<CancelOutcome>;
  /**
   * Gives the agent of an ended run its next task: a new run that begins with its work, merged with what was changed
   * since, in its conversation or else with a summary. It asks for what that run asked for, except for the changes.
   */
  continue(run: string, text: string, changes?: Partial<DispatchRequest>): Promise<RunHandle>;
  /** Repeats the task of an ended run, with changes, in its conversation where there is one. */
  retry(run: string, changes?: Partial<DispatchRequest>): Promise<RunHandle>;
  /** What `continue` dispatches, or `retry` if there is no text: for `dispatchDetached`. */
  continuation(
    run: string,
    text: string | null,
    changes?: Partial<DispatchRequest>,
  ): Promise<DispatchRequest>;
  send(run: string, body: string): Promise<string>;
  questions(filter?: Omit<QuestionFilter, 'runId'>): Promise<readonly QuestionRow[]>;
  /**
   * Answers a question by its id, its run or its thread; resolves with the run that continues, or null for a thread.
   * Variables that the run was given by value are not stored: `given` gives them again.
   */
  answer(question: string, answer: string, given?: GivenWithAnswer): Promise<RunHandle | null>;
  /** Tool calls that wait for a decision; with `all`, decided ones too. */
  approvals(filter?: Page & { readonly all?: boolean }): Promise<readonly ApprovalRow[]>;
  /** A call that waits or waited, named as for `decide`, with all that it was given. */
  approval(approval: string): Promise<WholeApproval>;
  /** Decides a waiting call by its id, a unique ending of it, its run, or `latest`. Exactly one decision counts. */
  decide(approval: string, decision: ApprovalDecision): Promise<ApprovalRow>;
  readonly residents: ResidentsApi;
  /** What the runs of sessions share: boards and context registries. */
  readonly sessions: Sessions;
  /** The spending of the day, and of the session if one is named, against their caps. */
  budget(session?: string): Promise<readonly BudgetStanding[]>;
  /** What each run has cost, as `budget` adds it up: a plain command has no cost that could be unknown. */
  spend(filter?: SpendFilter): Promise<readonly SpendRow[]>;
  /** Writes one file that another person can check. */
  export(run: string, to: string): Promise<Exported>;
  /** `witness`: lines that must name the seal, instead of the configured witness, which may not have it. */
  verify(run: string, options?: Partial<VerifyOptions>): Promise<Verification>;
  /** Seals a run that ended without a signature; without a name, all of them. Returns those that were sealed now. */
  seal(run?: string): Promise<readonly string[]>;
  forget(run: string): Promise<string>;
  /** Takes the branch of a run that timed out off the list of its pool, in every process. */
  drain(run: string): Promise<void>;
  /** Branches of runs that ran out of time, and those that wait here to be pushed. */
  branches(): Promise<readonly ListedBranch[]>;
  /** Tries once more to push the branch of a run on a remote repository; a push that fails is an outcome. */
  pushBranch(run: string): Promise<RunPush>;
  /** Deletes that branch here; resolves with the run's id. Its checkpoint stays. */
  dropBranch(run: string): Promise<string>;
  /** What the state folder and our refs take, in bytes on the disk. */
  usage(): Promise<ProjectUsage>;
  gc(options?: GarbageOptions): Promise<GarbageReport>;
  close(): Promise<void>;
}
